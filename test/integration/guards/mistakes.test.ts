/** Guards: a mistyped annotation is refused when it is new, and values that are probably mistakes cause a warning. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KNOWN_ANNOTATIONS } from '../../../src/api/annotations.ts';
import {
  API_VERSION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  GROUP,
  MEMBER_TEMPLATE_ANNOTATION,
  RECORD_ANNOTATION,
  SERVER_KIND,
  SERVER_PLURAL,
  SET_KIND,
  SET_PLURAL,
} from '../../../src/api/names.ts';
import {
  CERTIFICATE,
  DSA,
  ED25519,
  P256,
  P384,
  P521,
  RSA,
  RSA_1024,
  SK_ED25519,
  SK_P256,
} from '../../fixtures/public-keys.ts';
import { virtualServer, withAnnotations, withSpec, type Manifest } from '../../fixtures/virtual-server.ts';
import { patch, RECORD, statusPatch, useGuards } from '../support/guarded-objects.ts';
import { ADMISSION, refusal, succeed } from '../support/guards.ts';

const { guarded, objects } = useGuards();

const TYPO = `${GROUP}/adoptt`;
const annotating = (name: string, annotations: Record<string, string | null>): string[] =>
  patch(name, { metadata: { annotations } }, '--dry-run=server');
const DRY_CREATE = ['create', '--dry-run=server', '--filename=-'];

const SPECS: Record<string, [kind: string, spec: object]> = {
  [SERVER_PLURAL]: [SERVER_KIND, virtualServer('any').spec],
  [SET_PLURAL]: [SET_KIND, { template: { spec: virtualServer('any').spec } }],
  [CATALOG_PLURAL]: [CATALOG_KIND, {}],
};

function manifestOf(plural: string, annotations: Record<string, string>, more: object = {}): object {
  const [kind, spec] = SPECS[plural] ?? [];
  return { apiVersion: API_VERSION, kind, metadata: { name: 'any', annotations }, spec: { ...spec, ...more } };
}

describe('an unknown annotation', () => {
  it.each(Object.keys(SPECS))('is refused on a new object: %s', async (plural) => {
    for (const who of [guarded.editor, guarded.admin, guarded.root]) {
      const said = await refusal(who, DRY_CREATE, manifestOf(plural, { [TYPO]: 'vs1001' }));
      expect(said).toContain(`the operator does not know the annotation ${TYPO} of this kind. `);
      for (const known of KNOWN_ANNOTATIONS[plural] ?? []) expect(said).toContain(known);
    }
    await succeed(guarded.editor, DRY_CREATE, manifestOf(plural, { 'example.org/adoptt': 'x', adoptt: 'x' }));
  });

  it('is refused on an existing object, for every user', async () => {
    await objects.claimed('added');
    const people = [guarded.editor, guarded.admin, guarded.root, guarded.breakGlass];
    for (const who of people) expect(await refusal(who, annotating('added', { [TYPO]: 'x' }))).toContain(TYPO);
    const said = await refusal(guarded.editor, annotating('added', { [TYPO]: 'x', [`${GROUP}/pausedd`]: 'true' }));
    for (const name of [TYPO, `${GROUP}/pausedd`]) expect(said).toContain(name);
  });

  it('may stay on an object that has it: you and the operator can change the object, and remove it', async () => {
    await objects.create('stays', withAnnotations({ [TYPO]: 'x', [RECORD_ANNOTATION]: RECORD }));
    await succeed(guarded.editor, annotating('stays', { [TYPO]: 'y', 'example.org/other': 'z' }));
    await succeed(guarded.editor, patch('stays', { spec: { deletionProtection: true } }));
    await succeed(
      guarded.operator,
      patch('stays', { metadata: { annotations: { [RECORD_ANNOTATION]: `${RECORD} ` } } }),
    );
    await succeed(guarded.operator, statusPatch('stays', { status: { observedGeneration: 1 } }));
    await succeed(guarded.editor, patch('stays', { metadata: { annotations: { [TYPO]: null } } }));
    expect(await refusal(guarded.editor, annotating('stays', { [TYPO]: 'x' }))).toContain(TYPO);
  });

  it('is accepted in an object from a backup, which has the record of its server', async () => {
    await succeed(guarded.editor, DRY_CREATE, manifestOf(SERVER_PLURAL, { [TYPO]: 'x', [RECORD_ANNOTATION]: RECORD }));
  });
});

describe('a known annotation', () => {
  it.each(Object.entries(KNOWN_ANNOTATIONS))('is accepted on %s', async (plural, known) => {
    for (const name of known) await succeed(guarded.editor, DRY_CREATE, manifestOf(plural, { [name]: '{}' }));
  });

  it('is the same for the guards as for the operator', async () => {
    const documents = parseAllDocuments(await readFile(ADMISSION, 'utf8')).map(
      (document) =>
        document.toJS() as {
          metadata: { name: string };
          spec?: { variables?: { name: string; expression: string }[] };
        },
    );
    const policy = documents.find(({ metadata }) => metadata.name === 'vps-operator-annotations');
    const { expression = '' } = policy?.spec?.variables?.find(({ name }) => name === 'known') ?? {};
    const lists = [...expression.matchAll(/\[([^\]]*)\]/g)].map(([, list = '']) =>
      [...list.matchAll(/'([^']*)'/g)].map(([, name]) => name),
    );
    expect(lists).toEqual(
      [SERVER_PLURAL, CATALOG_PLURAL, SET_PLURAL].map((plural) => KNOWN_ANNOTATIONS[plural]?.toSorted()),
    );
  });

  it('of one kind is refused on another', async () => {
    const { editor } = guarded;
    expect(await refusal(editor, DRY_CREATE, manifestOf(SET_PLURAL, { [MEMBER_TEMPLATE_ANNOTATION]: '{}' }))).toContain(
      MEMBER_TEMPLATE_ANNOTATION,
    );
    expect(await refusal(editor, DRY_CREATE, manifestOf(CATALOG_PLURAL, { [`${GROUP}/paused`]: '' }))).toContain(
      `${GROUP}/paused`,
    );
  });
});

describe('a warning', () => {
  const KEY = ED25519.split(' ').slice(0, 2).join(' ');
  const AS_ERROR = '--warnings-as-errors';
  const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
  const [before, after] = [inMinutes(-2), inMinutes(60)];

  const soon = (ms: number): string => new Date(Date.now() + ms).toISOString().replace(/\.\d+Z/, 'Z');
  beforeAll(async () => {
    await objects.claimed('held');
    await succeed(guarded.operator, statusPatch('held', { status: { record: JSON.parse(RECORD) as object } }));
    await objects.claimed('sent');
    await objects.create('free');
    const lastTransitionTime = soon(-120_000);
    const condition = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime };
    const readyAt = soon(-3_600_000);
    const record = { ...(JSON.parse(RECORD) as object), readyAt };
    await objects.claimed('old');
    await succeed(guarded.operator, statusPatch('old', { status: { conditions: [condition] } }));
    await objects.claimed('ready');
    await succeed(guarded.operator, statusPatch('ready', { status: { conditions: [condition], record } }));
    await objects.claimed('kept');
    await succeed(guarded.editor, patch('kept', { spec: { deletionProtection: true, ttl: '59m' } }));
    await succeed(guarded.operator, statusPatch('kept', { status: { conditions: [condition], record } }));
  });

  /** The warnings that the request causes; it is accepted without the flag that turns them into errors. */
  async function warnings(args: string[], input?: unknown): Promise<string> {
    await succeed(guarded.editor, args, input);
    return (await guarded.editor([...args, AS_ERROR], input)).text;
  }

  const named = (name: string): Manifest => virtualServer(name);
  type Spec = Parameters<typeof withSpec>[0];
  const created = (spec: Spec): [string[], object] => [DRY_CREATE, virtualServer('new', withSpec(spec))];
  const ofSet = (spec: Spec): [string[], object] => [
    DRY_CREATE,
    manifestOf(SET_PLURAL, {}, { template: { spec: virtualServer('any', withSpec(spec)).spec } }),
  ];
  const edited = (name: string, spec: object): [string[]] => [patch(name, { spec }, '--dry-run=server')];

  it.each<[what: string, request: [string[], unknown?], says: string]>([
    ['product with a space', created({ product: 'VPS X4' }), 'product contains a space'],
    ['product with a tab', edited('free', { product: 'VPSX4\t' }), 'product contains a space'],
    ['image with a space', created({ image: 'debian 13' }), 'image contains a space'],
    ['image with a line break in the template of a set', ofSet({ image: 'debian\n' }), 'image contains a space'],
    ['product with a space in the template of a set', ofSet({ product: 'VPS X4' }), 'product contains a space'],
    ['doubled SSH key', created({ sshKeys: [KEY, `${KEY} me@example.org`] }), 'sshKeys contains the same key twice'],
    ['doubled SSH key in a set', ofSet({ sshKeys: [KEY, KEY] }), 'sshKeys contains the same key twice'],
    ['doubled SSH key after an edit', edited('free', { sshKeys: [KEY, KEY] }), 'sshKeys contains the same key twice'],
    ['certificate', created({ sshKeys: [KEY, CERTIFICATE] }), 'sshKeys[1] is no key that sshd accepts'],
    ['DSA key in a set', ofSet({ sshKeys: [DSA] }), 'sshKeys[0] is no key that sshd accepts'],
    ['key that is cut off', edited('free', { sshKeys: [KEY.slice(0, -1)] }), 'sshKeys[0] is no key that sshd accepts'],
    ['key of another type', created({ sshKeys: [KEY.replace('ssh-ed25519', 'ssh-rsa')] }), 'sshKeys[0] is no key'],
    ['name that is too long', [DRY_CREATE, named('n'.repeat(64))], 'metadata.name is longer than 63 characters'],
    ['expiry in the past', created({ expiresAt: before }), 'expiresAt is in the past'],
    [
      'expiry that was in the past a minute ago',
      edited('held', { expiresAt: soon(-60_000) }),
      'expiresAt is in the past',
    ],
    ['ttl in the past', edited('old', { ttl: '1s' }), 'ttl has passed'],
    ['ttl in the past according to the record', edited('ready', { ttl: '59m' }), 'ttl has passed'],
    [
      'ttl in the past that counts only without the protection',
      edited('kept', { deletionProtection: false }),
      'ttl has passed',
    ],
    ['expiry before the creation', edited('held', { expiresAt: '2020-01-01T00:00:00,5Z' }), 'expiresAt is in the past'],
    [
      'long delay in the template of a set',
      ofSet({ deletionDelay: '1h0m1s' }),
      'deletionDelay in the template of a set',
    ],
    [
      'other key for a held server',
      edited('held', { apiKeySecretRef: { name: 'b' } }),
      'apiKeySecretRef changes while',
    ],
    [
      'other key for an order that no status shows yet',
      edited('sent', { apiKeySecretRef: { name: 'b' } }),
      'apiKeySecretRef changes while',
    ],
  ])('tells of a %s, and the request is accepted', async (_what, request, says) => {
    expect(await warnings(...request)).toContain(says);
  });

  it.each<[what: string, request: [string[], unknown?]]>([
    ['a usual object', created({ sshKeys: [KEY, RSA], expiresAt: after })],
    ['a usual set', ofSet({ sshKeys: [KEY, RSA] })],
    ['keys of all types', created({ sshKeys: [RSA_1024, P256, P384, `${P521}\r\n`, SK_ED25519, `\t${SK_P256}\n`] })],
    ['a long delay of one server', created({ deletionDelay: '24h' })],
    ['a short delay in the template of a set', ofSet({ deletionDelay: '1h' })],
    ['the longest name that DNS allows', [DRY_CREATE, named('n'.repeat(63))]],
    ['another key before the order', edited('free', { apiKeySecretRef: { name: 'b' } })],
    ['an edit of another field', edited('held', { deletionProtection: true })],
    ['a later expiry', edited('held', { expiresAt: after })],
    ['a ttl of a server that was never ready', edited('held', { ttl: '1s' })],
    ['a longer ttl', edited('old', { ttl: '1h' })],
    ['a longer ttl than the record says', edited('ready', { ttl: '2h' })],
    ['an edit of an object whose protection keeps the server', edited('kept', { sshCheck: 'Proxy' })],
  ])('does not follow %s', async (_what, request) => {
    await succeed(guarded.editor, [...request[0], AS_ERROR], request[1]);
  });

  it('does not follow an expiry within a minute', async () => {
    // The time counts from the test: those of this file may take longer than a minute.
    const [args] = edited('held', { expiresAt: soon(60_000) });
    await succeed(guarded.editor, [...args, AS_ERROR]);
  });

  it('comes once: not with a later edit of another field', async () => {
    await objects.create('warned', withSpec({ product: 'VPS X4', sshKeys: [KEY, KEY, DSA], expiresAt: before }));
    await succeed(guarded.editor, patch('warned', { spec: { sshCheck: 'Proxy' } }, AS_ERROR));
    await succeed(guarded.editor, patch('warned', { spec: { expiresAt: null } }, AS_ERROR));
  });

  it('warns of another key for a set with members', async () => {
    const { editor, root } = guarded;
    await succeed(editor, ['create', '--filename=-'], manifestOf(SET_PLURAL, {}));
    const subresource = ['--type=merge', '--subresource=status', '--patch={"status":{"replicas":1}}'];
    await succeed(root, ['patch', 'vpsset', 'any', ...subresource]);
    const spec = { template: { spec: { apiKeySecretRef: { name: 'b' } } } };
    const args = ['patch', 'vpsset', 'any', '--type=merge', `--patch=${JSON.stringify({ spec })}`, '--dry-run=server'];
    expect(await warnings(args)).toContain('apiKeySecretRef changes while');
  });
});
