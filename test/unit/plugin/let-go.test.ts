/** What the screens show of an object that the operator has let go and that finalizers of other controllers keep. */
import { describe, expect, it } from 'vitest';
import { CANCEL_NOW_ANNOTATION, FINALIZER, HAND_OVER_ANNOTATION, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../src/api/record.ts';
import type { ObjectMeta } from '../../../src/api/meta.ts';
import type { VirtualServer, VirtualServerSpec, VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import { checkObjects } from '../../../src/plugin/checks/namespace.ts';
import type { ClusterView } from '../../../src/plugin/cluster/cluster.ts';
import { sshHosts } from '../../../src/plugin/decisions/ssh-hosts.ts';
import { overview } from '../../../src/plugin/screens/overview.ts';
import { screen } from '../../../src/plugin/screens/screen.ts';
import { setScreen } from '../../../src/plugin/screens/set-screen.ts';
import { timeline } from '../../../src/plugin/screens/timeline.ts';
import { upToDate } from '../../../src/plugin/state/let-go.ts';
import { groupsOf, situationOf } from '../../../src/virtual-server-set/decision/situation.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';
import { member, NOW, webSet } from '../../fixtures/virtual-server-set.ts';

const paint = { strong: String, faint: String, good: String, busy: String, bad: String };
const AT = '2026-01-01T23:55:00Z';
const RECORD = { owner: 'uid-of-g1', mode: 'create', attempt: 'a1', identifier: 's57' } satisfies Partial<ServerRecord>;

interface Shape {
  finalizers?: string[];
  annotations?: ObjectMeta['annotations'];
  spec?: Partial<VirtualServerSpec>;
  record?: Partial<ServerRecord>;
  status?: Partial<VirtualServerStatus>;
}

/** As its last read has shown it, and deleted since. */
function g1({ finalizers = ['x.example/y'], annotations, spec, record = {}, status = {} }: Shape = {}): VirtualServer {
  return stored(
    'g1',
    storedWith({
      metadata: { deletionTimestamp: AT, generation: 2, finalizers, ...(annotations && { annotations }) },
      ...(spec && { spec }),
      status: {
        observedGeneration: 1,
        identifier: 's57',
        serverStatus: 'running',
        ssh: 'root@proxy.example -p 2201',
        sshProxy: { hostname: 'proxy.example', port: 2201 },
        price: 1018,
        record: { ...RECORD, ...record },
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'Available',
            message: 'Server s57 is running',
            lastTransitionTime: '2026-01-01T12:00:00Z',
            observedGeneration: 1,
          },
        ],
        ...status,
      },
    }),
  );
}

const screenOf = (object: VirtualServer): string =>
  screen({ object, events: [], now: NOW, where: ' -n team', paint }).join('\n');
const headOf = (object: VirtualServer): string | undefined => screenOf(object).split('\n')[1];

describe('an object that only a finalizer of another controller keeps', () => {
  it('shows no server that runs, and names the finalizer on the status screen', () => {
    const text = screenOf(g1());
    expect(text).toContain(
      'Not ready: Deleting  The operator has cancelled server s57, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since. Only finalizer x.example/y keeps the object',
    );
    expect(text).not.toMatch(/running|^SSH|price|not reported/m);
    expect(text).toContain(
      `  kubectl patch vps g1 -n team --type json -p '[{"op":"test","path":"/metadata/uid","value":"uid-of-g1"},{"op":"remove","path":"/metadata/finalizers"}]'   # only if no controller will remove x.example/y`,
    );
  });

  it('offers no command against finalizers of the garbage collector', () => {
    expect(screenOf(g1({ finalizers: ['foregroundDeletion'] }))).not.toContain('kubectl patch');
  });

  it.each<[string, Shape, string]>([
    ['an answered cancellation', { status: { cancelRequestedAt: AT } }, 'The operator has cancelled server s57'],
    ['an expiry', { record: { expiredAt: AT } }, 'The operator has cancelled server s57'],
    [
      'deletionPolicy Retain',
      { spec: { deletionPolicy: 'Retain' } },
      'The operator has not cancelled server s57, because spec.deletionPolicy is Retain: it costs money while it exists',
    ],
    [
      'deletionPolicy Retain and a server that is gone',
      { spec: { deletionPolicy: 'Retain' }, record: { missingAt: AT } },
      'The operator has cancelled server s57, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since',
    ],
    [
      'deletionPolicy Retain and a cancellation without an answer',
      { spec: { deletionPolicy: 'Retain' }, status: { cancelRequestedAt: AT } },
      `The operator asked the provider to cancel server s57 at ${AT}, but spec.deletionPolicy is Retain: it costs money while it exists`,
    ],
    ['a hand-over', { annotations: { [HAND_OVER_ANNOTATION]: 'g2' } }, 'Object g2 now holds server s57'],
    [
      'another annotation',
      { annotations: { [CANCEL_NOW_ANNOTATION]: 's57' } },
      'The operator has cancelled server s57, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since',
    ],
    [
      'the record of an object whose finalizer another client removed',
      { annotations: { [RECORD_ANNOTATION]: formatRecord({ ...RECORD, format: 1 }) } },
      "The operator's finalizer was removed before the operator was done with this object: server s57 may exist and cost money",
    ],
    [
      'a status with the record of another object',
      { record: { owner: 'uid-of-another' } },
      'The operator no longer works on this object',
    ],
    [
      'an object that never had a server',
      { status: { record: undefined, identifier: undefined } },
      'The operator holds no server for this object',
    ],
  ])('tells what became of the server after %s', (_what, shape, message) => {
    expect(headOf(g1(shape))).toBe(`Not ready: Deleting  ${message}. Only finalizer x.example/y keeps the object`);
  });

  it('still shows how to reach a server that runs on', () => {
    const text = screenOf(g1({ spec: { deletionPolicy: 'Retain' } }));
    expect(text).toMatch(/^SSH +kubectl vps ssh g1 -n team/m);
    // Without the object, nothing names the server.
    expect(text).not.toContain('kubectl patch');
  });

  it('still names orphaned servers, which cost money', () => {
    const orphaned = {
      type: 'OrphanedServer',
      status: 'True' as const,
      reason: 'OrphanedServer',
      message: 'Task 7 may have created a server',
      lastTransitionTime: AT,
    };
    const record = { ...RECORD, orphans: [{ task: 7 }] } as ServerRecord;
    const text = screenOf(g1({ spec: { deletionPolicy: 'Retain' }, status: { record, conditions: [orphaned] } }));
    expect(text).toMatch(/^Orphan +task 7/m);
    expect(text).toContain('OrphanedServer=True');
  });

  it('is in the list with the finalizer, and not as ready', () => {
    const items = [{ kind: 'server' as const, object: g1({ finalizers: ['x.example/y', 'z.example/z'] }) }];
    const options = { now: NOW, order: 'name' as const, withNamespace: false, isWide: true, width: undefined, paint };
    const [, row = ''] = overview(items, options);
    expect(row).toMatch(/^g1 +deleting for 5m, kept by x\.example\/y and 1 more +VPSX4 +- /);
    expect(row).not.toMatch(/proxy\.example|s57/);
  });

  it('counts for doctor once the finalizer stays, and not as an object without a report', () => {
    const check = (object: VirtualServer, now = NOW) =>
      checkObjects({ where: '' } as unknown as ClusterView, { servers: [object], sets: [], catalogs: [] }, now)[0];
    expect(check(g1())).toMatchObject({
      state: 'wrong',
      message: '1 server, 0 sets; 1 need you: g1 (being deleted, kept by x.example/y)',
    });
    expect(check(g1(), Date.parse(AT) + 1000)?.state).toBe('ok');
  });

  it('tells in the timeline what is past, and what is the case now', () => {
    expect(timeline(g1(), [], paint).filter((line) => !line.includes('…'))).toEqual([
      '2026-01-01T00:00:00Z  the object was created',
      '2026-01-01T12:00:00Z  Ready became True',
      '2026-01-01T23:55:00Z  the object was deleted',
      '2026-01-01T23:55:00Z  now Deleting: The operator has cancelled server s57, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since. Only finalizer x.example/y keeps the object',
    ]);
  });

  it('is no host of ssh, unless its server runs on', () => {
    const names = (object: VirtualServer) => sshHosts([object], false).hosts.map(({ name }) => name);
    expect(names(g1())).toEqual([]);
    expect(sshHosts([g1()], false).notes).toEqual([
      'g1.default is left out: The operator has cancelled server s57, or found that it was gone, unless spec.deletionPolicy or hand-over was changed since',
    ]);
    expect(names(g1({ spec: { deletionPolicy: 'Retain' } }))).toEqual(['g1.default']);
  });

  it('is a member of a set that is being deleted and does not need you', () => {
    const set = webSet({ replicas: 1 });
    const stuck = member(set, 0, { reason: 'ServerNotVisible', message: 'Not visible', deleting: true });
    const { [RECORD_ANNOTATION]: _, ...annotations } = stuck.metadata.annotations ?? {};
    const object = { ...stuck, metadata: { ...stuck.metadata, annotations, finalizers: ['x.example/y'] } };
    const lines = (one: VirtualServer) =>
      setScreen({ situation: situationOf(set, groupsOf(set, [one]), NOW), events: [], where: '', paint }).join('\n');
    expect(lines(stuck)).toContain('Members that need you');
    expect(lines(object)).not.toMatch(/ServerNotVisible|Members that need you/);
    expect(situationOf(set, groupsOf(set, [object]), NOW).unresolved).toEqual([]);
  });
});

it('leaves an object alone that the operator still works on', () => {
  const living = stored('web');
  expect(upToDate(living)).toBe(living);
  const held = g1({ finalizers: [FINALIZER, 'x.example/y'] });
  expect(upToDate(held)).toBe(held);
});
