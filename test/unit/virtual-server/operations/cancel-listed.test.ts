/** A deleted object whose server the provider denies, or shows as cancelled, while its list of servers still has it. */
import { describe, expect, it } from 'vitest';
import { SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { HELD, KNOWN, NOW, SERVER, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Answers, type Given, type Visited } from '../../../fixtures/visits.ts';

const HOUR = 3_600_000;
const RUNNING = { identifier: 'srv1', serverStatus: 'running' };
const CANCELLED = { ...SERVER, status: 'cancelled' };
/** It shows nothing that tells whose it is. */
const BARE = { ...CANCELLED, macs: [], ipv6: [], ipv4: [] };
const LOST = new ProviderError('PROVIDER_TIMEOUT', 'x');
const REFUSED = new ResponseError(409, 'Cancelling the server failed', { said: 'cancelled already' });
const NO_KEY: Given = { key: { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret' } } };

interface Course {
  answers: (count: number) => Answers;
  /** What you do with an object that shows this. */
  obey?: (object: VirtualServer, message: string) => { object: VirtualServer; given?: Given };
  /** Default: true. */
  listsServers?: boolean;
}

/** Visits the object until it is gone, for eight hours at most. */
async function after(
  first: VirtualServer,
  { answers, obey = (object) => ({ object }), listsServers = true }: Course,
): Promise<Visited[]> {
  const visits: Visited[] = [];
  for (let now = NOW, last: Visited | undefined; now - NOW < 8 * HOUR;) {
    const { object, given } = obey(last?.object ?? first, last === undefined ? '' : (shownBy(last).message ?? ''));
    const before = last && { memo: last.memo };
    last = await visit(object, {
      definition: 'kept',
      ...(listsServers && { listsServers }),
      ...given,
      ...before,
      now,
      answers: answers(visits.length),
    });
    visits.push(last);
    if (last.object === undefined) break;
    now += Math.max(1000, last.requeueAfterMs ?? HOUR);
  }
  return visits;
}

const doomed = (own: ServerRecord = KNOWN): VirtualServer => webWith(own, { deleting: true, status: RUNNING });
const deletes = (visits: readonly Visited[]): number =>
  visits.flatMap(({ calls }) => calls).filter((call) => call === 'delete').length;
const said = (visits: readonly Visited[]): string =>
  visits.map((each) => (each.object === undefined ? '' : shownBy(each).message)).join('\n');

/** Does what the message says of the annotation `server-gone`. */
function annotated(object: VirtualServer, message: string): VirtualServer {
  if (!message.includes(`${SERVER_GONE_ANNOTATION}=${KNOWN.identifier}`)) return object;
  const annotations = { ...object.metadata.annotations, [SERVER_GONE_ANNOTATION]: KNOWN.identifier };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

describe.each([
  ['the list keeps it', ['srv1']],
  ['the list lacks it', ['srv0']],
])(
  'a server that is shown as cancelled, and whose cancellation is refused without a reason, while %s',
  (_list, servers) => {
    const refused = (status: number, why: string): Course['answers'] => {
      const removed = new ResponseError(status, `Cancelling the server failed: the provider answered ${status}`, {
        said: why,
      });
      return () => ({ server: CANCELLED, removed, after: CANCELLED, servers });
    };

    it.each([
      [409, 'Conflict'],
      [409, ''],
      [409, 'Invalid state for this operation'],
      [422, 'Invalid state'],
    ])('is released by your word, as the message says, and not before (%d %s)', async (status, why) => {
      const obey: Course['obey'] = (object, message) => ({ object: annotated(object, message) });
      const told = await after(doomed(), { answers: refused(status, why), obey });
      expect(told.at(-1)?.object).toBeUndefined();
      const untold = await after(doomed(), { answers: refused(status, why) });
      expect(untold.at(-1)?.object).toBeDefined();
      expect(said(untold)).toContain('as cancelled, which does not prove that it is gone');
    });
  },
);

describe('a server that is shown as cancelled after a DELETE whose answer was lost, and that the list keeps', () => {
  const shown =
    (server: Answers['server'], removed: Answers['removed'] = LOST): Course['answers'] =>
    (count) => ({
      server: count === 0 ? SERVER : server,
      removed: count === 0 ? LOST : removed,
      after: server,
      servers: ['srv1'],
    });

  it.each([
    ['refuses', REFUSED],
    ['denies', DENIED],
  ])('gets another DELETE if it is recognized, and is gone once the provider %s that one', async (_, removed) => {
    const visits = await after(doomed(), { answers: shown(CANCELLED, removed) });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(deletes(visits)).toBe(2);
    expect(visits.at(-1)?.events).toMatchObject([{ reason: 'ServerCancelled' }]);
  });

  it('gets none if nothing proves whose it is, and the object then goes by the word that its message asks for', async () => {
    const visits = await after(doomed(), {
      answers: shown(BARE),
      obey: (object, message) => ({
        object: message.includes('shows it as cancelled, or no longer shows it') ? annotated(object, message) : object,
      }),
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(deletes(visits)).toBe(1);
  });

  it('stays without your word if nothing proves whose it is', async () => {
    const visits = await after(doomed(), { answers: shown(BARE) });
    expect(visits.at(-1)?.object).toBeDefined();
  });

  it('goes by your word if the provider answers every further DELETE with 200', async () => {
    const word = `${SERVER_GONE_ANNOTATION}=srv1`;
    const visits = await after(doomed(), {
      answers: shown(CANCELLED, 'ok'),
      obey: (object, message) => ({ object: message.includes('still shows') ? annotated(object, word) : object }),
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(deletes(visits)).toBe(2);
  });

  it('goes by your word if every DELETE is lost', async () => {
    const visits = await after(doomed(), {
      answers: shown(CANCELLED),
      obey: (object, message) => ({ object: annotated(object, message) }),
    });
    expect(visits.at(-1)?.object).toBeUndefined();
  });
});

describe('a server that the provider denies, and that the list keeps', () => {
  const answers: Course['answers'] = () => ({ server: DENIED, removed: DENIED, servers: ['srv1'] });

  it('does not count as gone by your word', async () => {
    const object = annotated(doomed(), `${SERVER_GONE_ANNOTATION}=srv1`);
    const visits = await after(object, { answers });
    expect(visits.at(-1)?.object).toBeDefined();
    expect(said(visits)).not.toContain(SERVER_GONE_ANNOTATION);
  });

  it('is left to you by what the message says: Retain', async () => {
    const visits = await after(doomed(), {
      answers,
      obey: (object, message) => {
        const isAsked = message.includes('kubectl patch') && message.includes('"deletionPolicy":"Retain"');
        return { object: isAsked ? { ...object, spec: { ...object.spec, deletionPolicy: 'Retain' } } : object };
      },
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(deletes(visits)).toBe(0);
  });

  it('is gone by your word, once you have taken the key away as the message says, if no read has ever shown it', async () => {
    const own = { ...HELD, mode: 'named', sent: { at: '2026-01-01T12:00:00.000Z', body: '0' } } as const;
    const { task: _, ...untasked } = own;
    const visits = await after(webWith(untasked, { deleting: true }), {
      answers,
      obey: (object, message) => {
        const isAsked = message.includes('set spec.apiKeySecretRef to a Secret that does not exist');
        return { object: annotated(object, message), ...(isAsked && { given: NO_KEY }) };
      },
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(deletes(visits)).toBe(0);
  });
});

describe('a server that was always shown as removed, and whose DELETE is refused', () => {
  const removed = { ...SERVER, status: 'removed' };
  const ofIt = (own: ServerRecord, wasRead = true): VirtualServer =>
    webWith(own, { deleting: true, ...(wasRead && { status: { identifier: 'srv1', serverStatus: 'removed' } }) });
  const MADE = 20;

  it.each(
    [REFUSED, DENIED].flatMap((refusal) =>
      [true, false].flatMap((wasRead) =>
        [['srv1'], ['srv0'], undefined].map((servers) => ({ refusal, wasRead, servers })),
      ),
    ),
  )(
    'may be in the making, and is cancelled later: $refusal.status, read before: $wasRead, list: $servers',
    async (given) => {
      const { refusal, wasRead, servers } = given;
      let count = 0;
      const visits = await after(ofIt(wasRead ? KNOWN : HELD, wasRead), {
        listsServers: servers !== undefined,
        answers: () => {
          const isMade = (count += 1) > MADE;
          return {
            task: { state: 'complete', identifier: 'srv1' },
            server: isMade ? SERVER : removed,
            removed: isMade ? 'ok' : refusal,
            after: DENIED,
            ...(servers && { servers: isMade ? ['srv1'] : servers }),
          };
        },
      });
      expect(visits.length).toBeGreaterThan(MADE);
      expect(visits.at(-1)?.calls).toContain('delete');
      expect(visits.at(-1)?.object).toBeUndefined();
    },
  );

  it.each([REFUSED, DENIED])('keeps its object until your word, which the message names (%s)', async (answer) => {
    const answers = (): Answers => ({ server: removed, removed: answer, servers: ['srv1'] });
    const kept = await after(ofIt(KNOWN), { answers });
    expect(kept.at(-1)?.object).toBeDefined();
    expect(said(kept)).toContain('the operator has never seen it otherwise');
    const obey: Course['obey'] = (object, message) => ({ object: annotated(object, message) });
    expect((await after(ofIt(KNOWN), { answers, obey })).at(-1)?.object).toBeUndefined();
  });

  it.each([
    { what: 'it was ready before', own: { ...KNOWN, readyAt: '2026-01-01T00:00:00Z' } },
    { what: 'it was adopted', own: { ...KNOWN, mode: 'adopt' as const } },
  ])('is gone if $what', async ({ own }) => {
    for (const answer of [REFUSED, DENIED]) {
      const answers = (): Answers => ({ server: removed, removed: answer, servers: ['srv1'] });
      expect((await after(ofIt(own), { answers })).at(-1)?.object).toBeUndefined();
    }
  });
});
