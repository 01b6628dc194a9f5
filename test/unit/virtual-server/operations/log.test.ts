/** What the log says, at its usual level, of everything that cannot be undone: who cancelled what, and when. */
import { describe, expect, it } from 'vitest';
import {
  FORCE_OFF_ANNOTATION,
  HAND_OVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  REBOOT_ANNOTATION,
} from '../../../../src/api/names.ts';
import type { Held } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { logText } from '../../../../src/base/log-text.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import type { Operation } from '../../../../src/virtual-server/decision/types.ts';
import type { PowerCall } from '../../../../src/virtual-server/decision/memo.ts';
import {
  adopting,
  ATTEMPTED,
  KNOWN,
  memo,
  NOW,
  PRICED,
  SERVER,
  web,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';
import { next } from './named-support.ts';

const TIME = '2026-01-02T00:00:00Z';
const LOST = new ProviderError('PROVIDER_TIMEOUT', 'no answer within 30 s');
const READY: Held = { ...PRICED, readyAt: '2026-01-01T01:00:00Z' };
const OFF = { ...SERVER, status: 'shut down' };
const held = (shape: Shape = {}, serverStatus = 'running'): VirtualServer =>
  webWith(READY, { status: { serverStatus }, ...shape });
const GONE = memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } });
const pending = { state: 'pending' } as const;

function named(name: string, own: Held, shape: Shape): VirtualServer {
  const object = webWith({ ...own, owner: `uid-of-${name}` }, shape);
  return { ...object, metadata: { ...object.metadata, name, uid: `uid-of-${name}` } };
}

/** As `kubectl vps logs` shows them, without times. */
const said = ({ lines }: Visited): string[] =>
  lines.map((line) =>
    logText(line)
      .replace(/^\S+Z /, '')
      .replace(/,? ?[\d.]+ ms\)/, ')'),
  );

const ordered: Given = { answers: { order: { kind: 'created', task: 7 }, task: pending } };
const orderedNamed: Given = { ordersNamed: true, answers: { named: { kind: 'created', task: 7 }, task: pending } };

async function repeated(): Promise<Visited> {
  const lost = { kind: 'unclear', error: LOST, isAnswered: false } as const;
  const first = await visit(web(), { ordersNamed: true, answers: { named: lost } });
  const denied = new ProviderError('PROVIDER_NOT_FOUND', '404');
  return next(first, NOW + 3_600_000, {
    answers: { server: denied, named: { kind: 'created', task: 7 }, task: pending },
  });
}

const switched = (object: VirtualServer, server = SERVER): Promise<Visited> =>
  visit(object, { answers: { server, power: 'accepted' } });
const annotated = (annotation: string): Shape => ({ annotations: { [annotation]: TIME } });

const CALLS: Readonly<Record<PowerCall, () => Promise<Visited>>> = {
  shutdown: () => switched(held({ spec: { power: 'Off' } })),
  'power-on': () => switched(held({ spec: { power: 'On' } }, 'shut down'), OFF),
  'power-off': () => switched(held({ spec: { power: 'Off' }, ...annotated(FORCE_OFF_ANNOTATION) })),
  dormant: () => switched(held({ spec: { power: 'Dormant' } })),
  wake: () => switched(held({ spec: { power: 'On' } }, 'dormant'), { ...SERVER, status: 'dormant', isDormant: true }),
  reboot: () => switched(held(annotated(REBOOT_ANNOTATION))),
};

/** What makes each operation act, and the line that tells it. */
const ACTS: Readonly<
  Record<Exclude<Operation['type'], 'follow' | 'look' | 'wait' | 'park'>, [() => Promise<Visited>, RegExp]>
> = {
  order: [() => visit(web(), ordered), /^default\/web: sending the order \(attempt \w+\)$/],
  repeat: [repeated, /^default\/web: sending the order again \(identifier \w+, attempt \w+\)$/],
  adopt: [
    () => visit(web(adopting('srv1')), { answers: { server: SERVER } }),
    /^default\/web .* after reading the server to adopt \(identifier srv1, events ServerAdopted\)$/,
  ],
  takeOver: [
    () =>
      visit(web(), {
        answers: { server: SERVER },
        beside: named('old', KNOWN, { deleting: true, annotations: { [HAND_OVER_ANNOTATION]: 'web' } }),
      }),
    /^default\/web .* after taking over the server of another object \(identifier srv1, events ServerAdopted\)$/,
  ],
  handOver: [
    () =>
      visit(held({ deleting: true, annotations: { [HAND_OVER_ANNOTATION]: 'db' } }), {
        beside: named('db', { ...KNOWN, takenFrom: { name: 'web', uid: 'uid-of-web', identifier: 'srv1' } }, {}),
      }),
    /^default\/web .* after handing the server over \(.*identifier srv1, events ServerHandedOver\)$/,
  ],
  change: [
    () =>
      visit(held({ spec: { changePolicy: 'Online', product: 'VPSX8' } }), {
        answers: { server: SERVER, changed: 'accepted' },
      }),
    /^default\/web: sending the change \(identifier srv1, attempt a1\)$/,
  ],
  power: [CALLS.shutdown, /^default\/web: shutting the server down \(identifier srv1, attempt a1\)$/],
  cancel: [
    () => visit(held({ deleting: true }), { answers: { server: SERVER, removed: 'cancelled' } }),
    /^default\/web: sending the cancellation \(identifier srv1, attempt a1\)$/,
  ],
  expire: [
    () => visit(held({ spec: { expiresAt: '2026-01-01T12:00:00Z' } }), { memo: GONE }),
    /^default\/web .* after recording that its time is up \(.*identifier srv1.*\)$/,
  ],
  release: [
    () => visit(held({ deleting: true }), { memo: GONE }),
    /^default\/web no longer has a finalizer of the operator \(.*identifier srv1, events ServerGone\)$/,
  ],
  record: [
    () =>
      visit(webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }), {
        ...ordered,
        notes: [{ attempt: 'a1', state: 'sending' }],
      }),
    /^default\/web .* after updating its record/,
  ],
};

describe('the log at its usual level', () => {
  it.each(Object.entries(ACTS))('has exactly one line when it does %s', async (_type, [run, line]) => {
    const lines = said(await run());
    expect(
      lines.filter((text) => line.test(text)),
      lines.join('\n'),
    ).toHaveLength(1);
  });

  it.each(Object.entries(CALLS))('has one line for the call %s and one for what came of it', async (call, run) => {
    const { lines, switches } = await run();
    expect(switches).toEqual([call]);
    const at = lines.findIndex(({ request }) => request === call);
    expect(
      lines.slice(at).map(({ level, request, step, identifier }) => ({ level, request, step, identifier })),
    ).toEqual([
      { level: 'info', request: call, step: undefined, identifier: 'srv1' },
      { level: 'info', request: undefined, step: 'power', identifier: 'srv1' },
    ]);
  });

  it.each([
    { call: 'shutdown', server: SERVER, change: undefined },
    { call: 'power-on', server: OFF, change: { phase: 'start' as const } },
  ])('has one line for the call $call of a change in place', async ({ call, server, change }) => {
    const note = { identifier: 'srv1', change: '{"tablet":false}', since: TIME, ...change };
    const own = { ...KNOWN, ...(change && { change: note }) };
    const spec = { changePolicy: 'AllowStop', advanced: { tablet: false } } as const;
    const object = webWith(own, { spec, status: { serverStatus: 'running' } });
    const { lines } = await visit(object, { answers: { server: { ...server, tablet: true }, power: 'accepted' } });
    expect(lines.filter(({ request }) => request !== undefined)).toMatchObject([{ request: call, identifier: 'srv1' }]);
  });

  it('tells a cancellation that was sent, its outcome and the end of the object, each with server and object', async () => {
    expect(said(await visit(held({ deleting: true }), { answers: { server: SERVER, removed: 'cancelled' } }))).toEqual([
      'default/web: sending the cancellation (identifier srv1, attempt a1)',
      expect.stringMatching(
        /^default\/web .* after trying to cancel its server \(attempt a1, task 7, identifier srv1, cancellation confirmed\)$/,
      ),
      'default/web no longer has a finalizer of the operator (attempt a1, task 7, identifier srv1, events ServerCancelled)',
    ]);
  });

  it('tells a cancellation without an answer', async () => {
    const visited = await visit(held({ deleting: true }), { answers: { server: SERVER, removed: LOST } });
    expect(visited.lines.map(({ level, request, cancellation }) => ({ level, request, cancellation }))).toEqual([
      { level: 'info', request: 'cancel', cancellation: undefined },
      { level: 'warn', request: undefined, cancellation: 'requested' },
    ]);
  });

  it('has the line of a request even if the process dies before the answer', async () => {
    const visited = await visit(held({ deleting: true }), { answers: { server: SERVER }, dies: 'delete' });
    expect(said(visited)).toEqual(['default/web: sending the cancellation (identifier srv1, attempt a1)']);
  });

  it('has no line of a request that is not sent', async () => {
    const visited = await visit(held({ deleting: true }), {
      answers: { server: SERVER, removed: 'cancelled' },
      leads: false,
    });
    expect(visited.lines.filter(({ request }) => request !== undefined)).toEqual([]);
  });

  it('sends nothing if to write the line has taken so long that the process no longer leads', async () => {
    let asked = 0;
    const given: Given = { answers: { server: SERVER, removed: 'cancelled' }, leads: () => ++asked < 2 };
    expect((await visit(held({ deleting: true }), given)).calls).not.toContain('delete');
  });

  it('is told if a call is not sent after its line', async () => {
    let asked = 0;
    const object = held({ spec: { power: 'Off' } });
    const visited = await visit(object, { answers: { server: SERVER, power: 'accepted' }, leads: () => ++asked === 1 });
    expect(visited.switches).toEqual([]);
    expect(said(visited)).toEqual([
      'default/web: shutting the server down (identifier srv1, attempt a1)',
      'WARN default/web: not sent after all: shutting the server down (identifier srv1, attempt a1)',
    ]);
  });

  it('tells what came of a request even if that cannot be written to the object', async () => {
    let writes = 0;
    const visited = await visit(web(), {
      answers: { order: { kind: 'created', task: 4711 } },
      // The claim is written, and then the network is away.
      beforeWrite: (stored) => {
        if (++writes > 1) throw new KubeError('Unreachable', 'no network');
        return stored;
      },
      fails: true,
    });
    expect(visited.requests).toHaveLength(1);
    expect(said(visited).at(-1)).toMatch(/after trying to order a server \(attempt \w+, task 4711\)$/);
  });

  it('does not repeat itself while a server is only read', async () => {
    const visited = await visit(held(), { answers: { server: SERVER } });
    expect(said(visited)).toEqual([]);
  });

  it('tells an order under an identifier', async () => {
    const lines = said(await visit(web(), orderedNamed));
    expect(lines.filter((line) => line.startsWith('default/web: sending the order (identifier web'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('ServerOrdered'))).toHaveLength(1);
  });
});
