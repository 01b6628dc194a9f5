/** What `kubectl vps adopt --from-record` does with each object, from the object and a backup. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { API_VERSION, FINALIZER, SERVER_KIND, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { inPhase, formatRecord, type StoredRecord } from '../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import type { ObjectMeta } from '../../../src/api/meta.ts';
import { readBackups, type Backup } from '../../../src/plugin/cluster/backups.ts';
import { planOf, type AdoptionStep } from '../../../src/plugin/decisions/restored.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

/** The record as the operator wrote it for the object with this uid. */
const record = (owner: string, changes: Partial<StoredRecord> = {}): StoredRecord => ({
  owner,
  mode: 'create',
  attempt: 'a1',
  task: 7,
  identifier: 'vs1',
  ...changes,
});
const OPEN = record('before', { identifier: undefined });
const EMPTY: StoredRecord = { owner: 'before', mode: 'create' };

interface Parts {
  record?: StoredRecord | string;
  /** The record in status. */
  mirror?: StoredRecord;
  annotations?: Record<string, string>;
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<VirtualServerSpec>;
}

function live(name: string, { record: own, mirror, annotations = {}, metadata = {}, spec = {} }: Parts): VirtualServer {
  const text = typeof own === 'string' || own === undefined ? own : formatRecord(own);
  const all = { ...annotations, ...(text !== undefined && { [RECORD_ANNOTATION]: text }) };
  const status = mirror === undefined ? {} : { record: mirror };
  return stored(
    name,
    storedWith({ metadata: { finalizers: [FINALIZER], annotations: all, ...metadata }, spec, status }),
  );
}

const backup = (name: string, ...records: StoredRecord[]): Backup => ({
  namespace: 'default',
  name,
  file: 'backup.yaml',
  found: records.map((each) => ({ place: 'backup.yaml', record: inPhase(each) })),
});

/** The row for the object `web`. */
function rowOf(parts: Parts, { backups = [], beside = [] }: { backups?: Backup[]; beside?: VirtualServer[] } = {}) {
  const object = live('web', parts);
  const [row] = planOf([{ name: 'web', object, backups }], [object, ...beside], NOW);
  return row;
}

const adopt = (identifier: string) => ({ annotations: { 'vps-operator.dev/adopt': identifier } });
const FOREIGN = { record: record('before') };
const OWN = record('uid-of-web');

describe('the step for an object', () => {
  it.each<{ what: string; parts: Parts; backups?: Backup[]; step: AdoptionStep; why: string; identifier?: string }>([
    { what: 'with the record of another uid', parts: FOREIGN, step: 'adopt', why: '', identifier: 'vs1' },
    {
      what: 'with such a record only in status',
      parts: { mirror: record('before') },
      step: 'adopt',
      why: '',
      identifier: 'vs1',
    },
    {
      what: 'with such a record only in the backup',
      parts: {},
      backups: [backup('web', record('before'))],
      step: 'adopt',
      why: '',
      identifier: 'vs1',
    },
    {
      what: 'without a finalizer, with such a record in the backup',
      parts: { metadata: { finalizers: [] } },
      backups: [backup('web', record('before'))],
      step: 'adopt',
      why: '',
      identifier: 'vs1',
    },
    {
      what: 'with a backup newer than the restored object',
      parts: { record: OPEN },
      backups: [backup('web', record('before'))],
      step: 'adopt',
      why: '',
      identifier: 'vs1',
    },
    { what: 'that holds the server', parts: { record: OWN }, step: 'done', why: 'holds', identifier: 'vs1' },
    {
      what: 'that holds the server of the backup',
      parts: { record: OWN },
      backups: [backup('web', record('before', { identifier: 'VS1' }))],
      step: 'done',
      why: 'holds',
      identifier: 'vs1',
    },
    {
      what: 'that holds another server',
      parts: { record: OWN },
      backups: [backup('web', record('before', { identifier: 'vs2' }))],
      step: 'you',
      why: 'its own record names vs1',
      identifier: 'vs1',
    },
    {
      what: 'with its own open order',
      parts: { record: { ...OWN, identifier: undefined } },
      backups: [backup('web', record('before'))],
      step: 'you',
      why: 'its own record names order a1',
      identifier: 'vs1',
    },
    {
      what: 'that was just ordered and is in no backup',
      parts: { record: { ...OWN, identifier: undefined } },
      step: 'none',
      why: 'it has its own record',
    },
    {
      what: 'with its own, expired server',
      parts: { record: { ...OWN, expiredAt: '2026-01-01T00:00:00Z' } },
      step: 'none',
      why: 'expired at 2026-01-01',
      identifier: 'vs1',
    },
    {
      what: 'that is annotated',
      parts: { ...FOREIGN, ...adopt('vs1') },
      step: 'done',
      why: 'annotated',
      identifier: 'vs1',
    },
    {
      what: 'that is annotated with another server',
      parts: { ...FOREIGN, ...adopt('vs2') },
      step: 'you',
      why: 'names vs2, but the record names vs1',
      identifier: 'vs1',
    },
    {
      what: 'with the annotation start-over',
      parts: { ...FOREIGN, annotations: { 'vps-operator.dev/start-over': 'uid-of-web' } },
      step: 'none',
      why: 'start-over is set',
      identifier: 'vs1',
    },
    {
      what: 'that is being deleted',
      parts: { ...FOREIGN, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      step: 'you',
      why: 'being deleted',
      identifier: 'vs1',
    },
    {
      what: 'with an open order in the record',
      parts: { record: OPEN },
      step: 'you',
      why: 'names no server of its order (a1, task 7) yet: pass a backup with its status',
    },
    {
      what: 'with an expired server in the record',
      parts: { record: record('before', { expiredAt: '2026-01-01T00:00:00Z' }) },
      step: 'you',
      why: 'expired at 2026-01-01',
      identifier: 'vs1',
    },
    { what: 'with an empty record', parts: { record: EMPTY }, step: 'you', why: 'neither a server nor an order' },
    { what: 'that lost its record', parts: {}, step: 'you', why: 'record is lost: pass a backup' },
    { what: 'with an invalid record', parts: { record: 'x' }, step: 'you', why: 'run kubectl vps status web' },
    {
      what: 'with its own record contradicted by status',
      parts: { record: OWN, mirror: { ...OWN, identifier: 'vs2' } },
      step: 'you',
      why: 'run kubectl vps status web',
      identifier: 'vs1',
    },
    {
      what: 'with another server in the backup',
      parts: FOREIGN,
      backups: [backup('web', record('before', { identifier: 'vs2' }))],
      step: 'you',
      why: 'identifier is vs1 in the annotation and vs2 in backup.yaml',
      identifier: 'vs1',
    },
    {
      what: 'with a later order in the backup',
      parts: FOREIGN,
      backups: [backup('web', { ...OPEN, attempt: 'a2', task: undefined })],
      step: 'you',
      why: 'attempt is a1 in the annotation and a2 in backup.yaml',
      identifier: 'vs1',
    },
    {
      what: 'with an unreadable record in the backup',
      parts: FOREIGN,
      backups: [{ ...backup('web'), problem: 'it is no record' }],
      step: 'you',
      why: 'it is no record',
      identifier: 'vs1',
    },
    {
      what: 'with an invalid identifier in the record',
      parts: { record: record('before', { identifier: 'a b' }) },
      step: 'you',
      why: 'visible ASCII characters',
      identifier: 'a b',
    },
    {
      what: 'that was never ordered',
      parts: { metadata: { finalizers: [] } },
      step: 'none',
      why: 'has no record',
    },
  ])('$what', ({ parts, backups, step, why, identifier }) => {
    expect(rowOf(parts, { backups: backups ?? [] })).toMatchObject({
      step,
      identifier,
      why: expect.stringContaining(why) as string,
    });
  });

  it('leaves an expiry in the past to you, because the operator would adopt nothing', () => {
    const row = rowOf({ ...FOREIGN, spec: { expiresAt: '2026-05-31T00:00:00Z' } });
    expect(row).toMatchObject({ step: 'you', why: 'spec.expiresAt has passed: set a later time first' });
    expect(rowOf({ ...FOREIGN, spec: { expiresAt: '2026-06-02T00:00:00Z' } })).toMatchObject({
      step: 'adopt',
      why: '',
    });
  });

  it('reports orders that only the record still names', () => {
    const orphans = [{ task: 8 }, { attempt: 'a0' }];
    expect(rowOf({ record: record('before', { orphans }) })).toMatchObject({
      step: 'adopt',
      why: "look in the provider's control panel for servers of 8, a0",
    });
  });

  it('is left to the user if only the backup has the object', () => {
    const row = planOf([{ name: 'web', object: undefined, backups: [backup('web', record('before'))] }], [], NOW)[0];
    expect(row).toMatchObject({ step: 'you', identifier: 'vs1', why: 'not in the cluster: apply backup.yaml first' });
  });
});

describe('a server that several objects name', () => {
  it('is adopted for none of them', () => {
    const [web, copy, db] = [
      live('web', FOREIGN),
      live('copy', { record: record('before', { identifier: 'VS1' }) }),
      live('db', { record: record('before', { identifier: 'vs9' }) }),
    ];
    const selected = [web, copy, db].map((object) => ({ name: object.metadata.name, object, backups: [] }));
    const rows = planOf(selected, [web, copy, db], NOW);
    expect(rows.map(({ step, why }) => [step, why])).toEqual([
      ['you', expect.stringContaining('server vs1 is also named by copy')],
      ['you', expect.stringContaining('server VS1 is also named by web')],
      ['adopt', ''],
    ]);
  });

  it.each<{ what: string; other: Parts }>([
    { what: 'holds it', other: { record: record('uid-of-other') } },
    { what: 'was restored too', other: { record: record('elsewhere') } },
    { what: 'names it in status', other: { mirror: record('elsewhere') } },
    { what: 'is annotated with it', other: adopt('vs1') },
  ])('is not adopted if an object that is not selected $what', ({ other }) => {
    const row = rowOf(FOREIGN, { beside: [live('other', other)] });
    expect(row).toMatchObject({
      step: 'you',
      why: expect.stringContaining('server vs1 is also named by other') as string,
    });
  });

  it('is adopted if the other object holds another server', () => {
    const holder = live('other', { record: record('uid-of-other', { identifier: 'vs2' }), ...adopt('vs1') });
    expect(rowOf(FOREIGN, { beside: [holder] })).toMatchObject({ step: 'adopt' });
  });
});

describe('a backup', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vps-operator-backups-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const object = (name: string, more: object = {}) => ({
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: { name, namespace: 'team', annotations: { [RECORD_ANNOTATION]: formatRecord(record('before')) } },
    ...more,
  });
  const read = async (text: string): Promise<Backup[]> => {
    const file = join(folder, 'backup.yaml');
    await writeFile(file, text);
    return readBackups(file, Readable.from([]));
  };
  const brief = (backups: Backup[]) =>
    backups.map(({ name, namespace, found }) => [name, namespace, found.map((each) => each.record.identifier)]);

  it.each([
    ['YAML', [object('web')].map((each) => stringify(each)).join('---\n')],
    ['JSON', JSON.stringify(object('web'))],
    ['several documents', ['', 'a: b\n', stringify(object('web')), '# nothing\n'].join('---\n')],
    [
      'a list among other kinds',
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [{ kind: 'Secret' }, null, object('web')] }),
    ],
    ['a list of its kind', stringify({ apiVersion: API_VERSION, kind: `${SERVER_KIND}List`, items: [object('web')] })],
  ])('is read as %s', async (_form, text) => {
    expect(brief(await read(text))).toEqual([['web', 'team', ['vs1']]]);
  });

  it('yields the record in status besides the one in the annotation', async () => {
    const status = { record: record('before', { identifier: 'vs2' }) };
    expect(brief(await read(stringify(object('web', { status }))))).toEqual([['web', 'team', ['vs1', 'vs2']]]);
    const bare = object('web', { metadata: { name: 'web' }, status });
    expect(brief(await read(stringify(bare)))).toEqual([['web', undefined, ['vs2']]]);
  });

  it('is read from a folder with a file for each object, or from standard input', async () => {
    const nested = await mkdtemp(join(folder, 'team-'));
    await writeFile(join(nested, 'db.json'), JSON.stringify(object('db')));
    await writeFile(join(nested, 'web.yml'), stringify(object('web')));
    await writeFile(join(nested, 'README'), '{');
    expect(brief(await readBackups(nested, Readable.from([])))).toHaveLength(2);
    expect(brief(await readBackups('-', Readable.from([stringify(object('web'))])))).toHaveLength(1);
  });

  it('reports an invalid record', async () => {
    const annotations = { [RECORD_ANNOTATION]: '{"owner":1}' };
    const [found] = await read(stringify(object('web', { metadata: { name: 'web', annotations } })));
    expect(found).toMatchObject({
      found: [],
      problem: expect.stringMatching(/backup\.yaml is not a valid record: /) as string,
    });
  });

  it.each([
    ['{', 'is not valid YAML or JSON: '],
    ['a: &a [*a, *a]\n'.repeat(2), 'is not valid YAML or JSON: '],
    ['kind: Secret\n', `contains no ${SERVER_KIND}`],
    [stringify(object('web', { apiVersion: 'other/v1' })), `contains no ${SERVER_KIND}`],
    [stringify(object('web', { metadata: {} })), 'has no metadata.name'],
  ])('is refused if it is %j', async (text, why) => {
    await expect(read(text)).rejects.toThrow(why);
  });

  it('is refused by name if it does not exist', async () => {
    await expect(readBackups('none.yaml', Readable.from([]))).rejects.toThrow(
      'cannot read --filename none.yaml: no such file or directory',
    );
  });
});
