/** What an order sends cannot be forgotten: neither in the body of the order, nor in the lock, nor when two specs are compared. */
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { ORDERED_FIELDS, orderBody, orderDifference } from '../../../src/api/ordered-fields.ts';
import { orderedFieldsPolicy } from '../../../src/api/ordered-fields-policy.ts';
import { orderedOf, revisionOf } from '../../../src/virtual-server-set/decision/template.ts';
import { without } from '../../../src/base/without.ts';
import type { VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { ONE, OTHER } from '../../fixtures/ordered-values.ts';
import { CATALOG, web } from '../../fixtures/decision.ts';
import { mergePatched } from '../../../src/plugin/cluster/merge-patch.ts';
import { lockedDifference } from '../../fixtures/locked-fields.ts';
import { RETURNS, RETURNS_UID } from '../../fixtures/returns.ts';
import { P256, RSA } from '../../fixtures/public-keys.ts';
import { DENIED, visit } from '../../fixtures/visits.ts';

describe.each(ORDERED_FIELDS)('spec.%s', (field) => {
  // A body has one text of user data.
  const one = without<Partial<typeof ONE>, 'userData' | 'userDataFrom'>(
    ONE,
    field === 'userDataFrom' ? 'userData' : 'userDataFrom',
  ) as typeof ONE;
  const changed = { ...one, [field]: OTHER[field] };

  it('changes the order', async () => {
    expect(await sent(changed)).not.toEqual(await sent(one));
  });

  it('is locked by the policy, which names it', () => {
    const [policy] = orderedFieldsPolicy() as [
      {
        spec: { variables: { expression: string }[]; validations: { expression: string; messageExpression: string }[] };
      },
    ];
    const variables = policy.spec.variables.map(({ expression }) => expression).join(' ');
    const compared = new RegExp(`\\bobject\\.spec\\.\\?${field}\\b.* == oldObject\\.spec\\.\\?${field}\\b`);
    for (const { expression, messageExpression } of policy.spec.validations) {
      expect(`${expression} ${variables}`).toMatch(compared);
      expect(messageExpression).toContain(`'spec.${field}, '`);
    }
  });

  it('makes two specs differ', () => {
    expect(orderDifference(one, changed)).toEqual([field]);
    expect(orderDifference(one, { ...one })).toEqual([]);
  });

  it('makes another revision of a set, which keeps it', () => {
    expect(revisionOf(changed)).not.toBe(revisionOf(one));
    expect(orderedOf(changed)[field]).toEqual(OTHER[field]);
  });
});

it.each([
  ['ipv4', false],
  ['diskType', 'ssd'],
] as const)('counts spec.%s: %s as the same as no value, which orders the same', (field, usual) => {
  const { [field]: _, ...unset } = ONE;
  expect(orderDifference(unset, { ...unset, [field]: usual })).toEqual([]);
  expect(revisionOf({ ...unset, [field]: usual })).toBe(revisionOf(unset));
  const [policy] = orderedFieldsPolicy() as [{ spec: { validations: { expression: string }[] } }];
  const value = typeof usual === 'string' ? `'${usual}'` : usual;
  const side = `bject.spec.?${field}.orValue(${value})`;
  expect(policy.spec.validations[0]?.expression).toContain(`o${side} == oldO${side}`);
});

describe('what was not carried out', () => {
  it.each(RETURNS)('may be taken back, or not: $name', ({ spec, status, edit, locked }) => {
    const record = { owner: RETURNS_UID, mode: 'create', attempt: 'a1', ...(status.record as object) };
    const object = web({ spec });
    const known = {
      ...object,
      metadata: { ...object.metadata, uid: RETURNS_UID, namespace: 'default' },
      status: { ...status, record },
    };
    const after = mergePatched(object.spec, edit) as VirtualServerSpec;
    expect(lockedDifference(known, after)).toEqual(locked);
  });
});

/** The order of an object with these fields: the identifier in its path, and its body. */
async function sent(spec: typeof ONE): Promise<unknown> {
  const diskSizes = { ...CATALOG.diskSizes, hdd: CATALOG.diskSizes.ssd };
  const catalog = { ...CATALOG, diskSizes, images: [{ name: ONE.image }, { name: OTHER.image }] };
  const free = { server: DENIED, servers: [] };
  const answers = { ...free, catalog, named: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
  const { requests } = await visit(web({ spec }), {
    ordersNamed: true,
    answers,
    sshKeys: { team: P256, others: RSA },
    userData: { setup: '#!/bin/sh\n', others: '#!/bin/sh\ntrue\n' },
  });
  expect(requests).toHaveLength(1);
  return requests[0];
}

describe('the body of an order', () => {
  it('has the documented fields, with all keys in one text', () => {
    expect(orderBody({ ...ONE, sshKeys: [` ${RSA}\r\n`], sshKeysFrom: [P256], userDataFrom: undefined })).toEqual({
      product: 'VPSX4',
      image: 'cloudinit-debian-trixie.raw.gz',
      disk_size: 10240,
      ssh_keys: `${RSA}\n${P256}`,
      ipv4: true,
      zone: 'lon',
      hostname: 'web.example.org',
      name: 'Shop',
      disk_type: 'ssd',
      set_forward_dns: true,
      set_reverse_dns: true,
      host_server: 'host1',
      extra_cores: 2,
      extra_ram: 1024,
      cpu_mode: 'performance',
      tablet: false,
      user_data: 'base',
      user_data_string: '#cloud-config\npackages: [nginx]\n',
    });
  });

  it('has the rare fields in one order, whichever the API server returns', () => {
    const { product, image, diskSize } = ONE;
    const body = (advanced: (typeof ONE)['advanced']): string =>
      JSON.stringify(orderBody({ product, image, diskSize, sshKeysFrom: [], advanced }));
    const first = body({ netDevice: 'e1000', diskBus: 'sata', cpuMode: 'Compatibility' });
    expect(first).toContain('"cpu_mode":"compatibility","net_device":"e1000","disk_bus":"sata"}');
    expect(body({ cpuMode: 'Compatibility', diskBus: 'sata', netDevice: 'e1000' })).toBe(first);
    const turned = { ...ONE, advanced: Object.fromEntries(Object.entries(ONE.advanced).reverse()) };
    expect([orderDifference(ONE, turned), revisionOf(turned)]).toEqual([[], revisionOf(ONE)]);
  });

  it('has no field that is not set: its hash is stored, and an earlier version has sent the same', () => {
    const { product, image, diskSize, sshKeys } = ONE;
    const body = orderBody({ product, image, diskSize, sshKeys, sshKeysFrom: [] });
    expect(JSON.stringify(body)).toBe(
      `{"product":"VPSX4","image":"${image}","disk_size":10240,"ssh_keys":"${sshKeys.join('\n')}"}`,
    );
  });

  it.each([undefined, []])('has the keys of Secrets alone if spec has none: %j', (sshKeys) => {
    const { sshKeys: _own, ...others } = ONE;
    const values = { ...others, ...(sshKeys && { sshKeys }), sshKeysFrom: [P256], userDataFrom: undefined };
    expect(orderBody(values)).toMatchObject({ ssh_keys: P256 });
  });
});

describe('a further field of spec', () => {
  const OTHERS = '  sshKeysFrom: { sentAs:';
  const row = (text: string): string => `  rack: ${text},\n${OTHERS}`;

  it.each<{ what: string; rows?: [string, string]; error: RegExp | undefined }>([
    { what: 'without a row', error: /Property 'rack' is missing/ },
    ...['{ encode: asIs }', '{ sentAs: undefined, encode: asIs }', '{}', "{ sentAs: 'rack' }"].map((text) => ({
      what: `with the row ${text}`,
      rows: [OTHERS, row(text)] as [string, string],
      error: /not assignable/,
    })),
    {
      what: 'that is sent as nothing',
      rows: [OTHERS, row("{ sentAs: 'rack', encode: () => undefined }")],
      error: /not assignable/,
    },
    { what: 'with a row', rows: [OTHERS, row("{ sentAs: 'rack', encode: asIs }")], error: undefined },
    { what: 'that may change while the server lives', rows: ["  'ttl',\n", "  'ttl',\n  'rack',\n"], error: undefined },
  ])('$what: $error', ({ rows, error }) => {
    const errors = errorsOf([
      { file: 'virtual-server.ts', find: '    image:', replace: '    rack: z.string().optional(),\n    image:' },
      ...(rows === undefined ? [] : [{ file: 'ordered-fields.ts', find: rows[0], replace: rows[1] }]),
    ]);
    if (error === undefined) expect(errors).toEqual([]);
    else expect(errors.join('\n')).toMatch(error);
  });

  it('has one place: no field is both ordered and changeable', () => {
    const errors = errorsOf([{ file: 'ordered-fields.ts', find: "  'ttl',\n", replace: "  'ttl',\n  'image',\n" }]);
    expect(errors.join('\n')).toMatch(/'image' does not exist/);
  });
});

const ROOT = join(import.meta.dirname, '../../..');
const API = join(ROOT, 'src/api');
const TABLE = join(API, 'ordered-fields.ts');

const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
  config: object;
};
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
const host = ts.createCompilerHost(options);
const sources = new Map<string, ts.SourceFile | undefined>();

interface Edit {
  file: string;
  find: string;
  replace: string;
}

/** What the compiler says of the table after these edits. */
function errorsOf(edits: readonly Edit[]): string[] {
  const getSourceFile: ts.CompilerHost['getSourceFile'] = (path, version) => {
    const edit = edits.find(({ file }) => path === join(API, file));
    if (edit !== undefined) return ts.createSourceFile(path, edited(edit), version);
    if (!sources.has(path)) sources.set(path, host.getSourceFile(path, version));
    return sources.get(path);
  };
  const program = ts.createProgram([TABLE], options, { ...host, getSourceFile });
  const found = program.getSemanticDiagnostics(program.getSourceFile(TABLE));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

function edited({ file, find, replace }: Edit): string {
  const text = ts.sys.readFile(join(API, file)) ?? '';
  expect(text.split(find)).toHaveLength(2);
  return text.replace(find, replace);
}
