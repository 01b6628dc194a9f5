/** Inputs for tests of the pure rooms: records, objects that carry them, and facts without any fault. */
import { ADOPT_ANNOTATION, FINALIZER, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec, VirtualServerStatus } from '../../src/api/virtual-server.ts';
import { decide as decideOn } from '../../src/virtual-server/decision/decide.ts';
import { NEW_MEMO, type Denials, type Evidence, type Memo } from '../../src/virtual-server/decision/memo.ts';
import type { Facts, Next, Operation, Others } from '../../src/virtual-server/decision/types.ts';
import { lookAt } from '../../src/virtual-server/decision/view.ts';
import type { Server } from '../../src/provider/types.ts';
import { stored, storedWith } from './virtual-server.ts';

export const NOW = Date.UTC(2026, 0, 2);
export const UID = 'uid-of-web';
export const ACCOUNT = 'account-1';
/** Another key at the base URL of `ACCOUNT`, and a key at another base URL. */
export const OTHER_KEY = 'account-2';
export const ELSEWHERE = 'elsewhere-1';

/** A record of the object `web`. */
export const record = (changes: Partial<ServerRecord> = {}): ServerRecord => ({
  owner: UID,
  mode: 'create',
  ...changes,
});

export const ATTEMPTED = record({ account: ACCOUNT, attempt: 'a1', attemptedAt: '2026-01-01T23:59:00Z' });
export const TASKED = { ...ATTEMPTED, task: 7 };
export const HELD = { ...TASKED, identifier: 'srv1' };
/** After a read of the server; matches `SERVER`. */
export const KNOWN = { ...HELD, fingerprint: { macs: ['00:00:5e:00:53:01'] } };

export interface Shape {
  /** The record in the annotation, as an object or as raw text. */
  annotated?: ServerRecord | string;
  /** The record in status. */
  mirror?: ServerRecord;
  /** Default: the operator's finalizer if there is a record. */
  finalizers?: string[];
  annotations?: Record<string, string>;
  deleting?: boolean;
  spec?: Partial<VirtualServerSpec>;
  status?: VirtualServerStatus;
}

/** The object `web` as the API server returns it. */
export function web({ annotated, mirror, finalizers, annotations, deleting, spec, status }: Shape = {}): VirtualServer {
  const text = typeof annotated === 'object' ? formatRecord(annotated) : annotated;
  const held = finalizers ?? (annotated === undefined && mirror === undefined ? [] : [FINALIZER]);
  return stored(
    'web',
    storedWith({
      metadata: {
        annotations: { ...annotations, ...(text !== undefined && { [RECORD_ANNOTATION]: text }) },
        ...(held.length > 0 && { finalizers: held }),
        ...(deleting === true && { deletionTimestamp: '2026-01-02T00:00:00Z', generation: 2 }),
      },
      ...(spec && { spec }),
      status: { observedGeneration: -1, ...status, ...(mirror && { record: mirror }) },
    }),
  );
}

/** `web` with the record in both the annotation and the status. */
export const webWith = (own: ServerRecord, shape: Shape = {}): VirtualServer =>
  web({ annotated: own, mirror: own, ...shape });

export const adopting = (identifier: string): Shape => ({ annotations: { [ADOPT_ANNOTATION]: identifier } });

export const CATALOG = {
  products: [{ code: 'vps-1gb' }, { code: 'vps-2gb' }],
  images: [{ name: 'debian-13.qcow2/minimal' }],
  diskSizes: { ssd: [10, 20, 40] },
};

export const TIMING = { pollMs: 60_000, resyncMs: 600_000, takeoverMs: 180_000, absenceMs: 300_000 };

/** No other object holds anything. */
export const others = (changes: Partial<Others> = {}): Others => ({
  withServer: () => [],
  withAddress: () => [],
  withTask: () => [],
  ordering: () => [],
  ...changes,
});

/** The monotonic clock is 0 when the wall clock is `NOW`. */
export function facts(changes: Partial<Facts> = {}): Facts {
  const { now = NOW } = changes;
  const clocks = { now, monotonic: now - NOW };
  return { ...clocks, memo: NEW_MEMO, notes: [], others: others(), timing: TIMING, jitter: 0, ...changes };
}

/** 404s that prove an absence once another one follows at `NOW`. */
export const denials = (of: string): Denials => ({
  of,
  since: -400_000,
  counted: 3,
  countedAt: -150_000,
  lastAt: -60_000,
});

/** Facts of a visit that has read its key. */
export const withKey = (changes: Partial<Facts> = {}): Facts =>
  facts({ key: { ok: true, account: ACCOUNT }, ...changes });

export const memo = (evidence: Evidence = {}, changes: Partial<Memo> = {}): Memo => ({
  ...NEW_MEMO,
  evidence,
  ...changes,
});

export const SERVER: Server = {
  identifier: 'srv1',
  name: 'web',
  status: 'running',
  product: 'vps-1gb',
  price: 9.5,
  zone: { name: 'Zone One', code: 'Z1' },
  hostServer: 'host1',
  specs: { cores: 1, ram: 1024, diskSize: 20, diskType: 'ssd' },
  ipv4: [],
  ipv6: ['2001:db8::1'],
  macs: ['00:00:5e:00:53:01'],
  adminConsole: { hostname: 'admin.srv1.vs.example.com', username: 'srv1' },
  sshProxy: { hostname: 'proxy.example.com', port: 20001 },
};

/** The answer of a read. */
export const shown = (changes: Partial<Server> = {}, account = ACCOUNT) => ({
  type: 'server' as const,
  server: { ...SERVER, ...changes },
  account,
});

/** A 404; `counts`: a hint that the server is gone. */
export const denied = (counts: boolean) => ({ type: 'serverNotFound' as const, counts, detail: 'another key' });

/** Type -> status and reason. */
export const conditionsOf = ({ status }: Pick<Next, 'status'>): Record<string, string> =>
  Object.fromEntries((status?.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]));

export const decide = (object: VirtualServer, given: Facts): Operation => decideOn(lookAt(object, given));
