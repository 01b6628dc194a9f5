/** All text for users is printable, whatever a record, an annotation or the provider contains. */
import { ProviderError } from '../../../src/provider/error.ts';
import { expect, it } from 'vitest';
import { SERVER_KIND } from '../../../src/api/names.ts';
import { INPUT_ANNOTATIONS } from '../../../src/api/annotations.ts';
import type { ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import { EventRecorder } from '../../../src/controller/event-recorder.ts';
import type { Server, TaskState } from '../../../src/provider/types.ts';
import { ResponseError } from '../../../src/provider/error.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { Evidence } from '../../../src/virtual-server/decision/memo.ts';
import { knownRecord } from '../../../src/virtual-server/decision/known-record.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { ACCOUNT, CATALOG, NOW, SERVER, UID, memo, web } from '../../fixtures/decision.ts';
import { fakeSecrets } from '../../fixtures/doubles.ts';
import { DENIED, visit, type Answers, type Given } from '../../fixtures/visits.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { Random } from '../../lives/random.ts';

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const CHARACTERS = Array.from(
  'ab1 "{\n\r\t\0\u0007\u001b\u007f\u0085\u009b\u00ad\u061c\u200b\u200d\u2028\u2029\u202e\u2066\ufeff\u{e0041}😀',
);
const RUNS = 6_000;

class Chance extends Random {
  below(bound: number): number {
    return this.int(0, bound - 1);
  }

  oneOf<T>(...values: [T, ...T[]]): T {
    return this.pick(values);
  }

  text(): string {
    return `x${Array.from({ length: this.below(12) }, () => CHARACTERS[this.below(CHARACTERS.length)]).join('')}`;
  }

  maybe<T>(value: T): T | undefined {
    return this.below(2) === 0 ? value : undefined;
  }
}

function recordOf(chance: Chance): ServerRecord {
  const fields = {
    account: ACCOUNT,
    attempt: chance.text(),
    attemptedAt: '2026-01-01T00:00:00Z',
    task: 7,
    identifier: chance.text(),
    fingerprint: { macs: [chance.text()] },
    missingAt: '2026-01-01T00:00:00Z',
    orphans: [{ attempt: chance.text() }],
  };
  const known = Object.entries(fields).filter(() => chance.below(2) === 0);
  return {
    owner: chance.oneOf(UID, UID, UID, chance.text()),
    mode: chance.oneOf('create', 'adopt'),
    ...Object.fromEntries(known),
  };
}

function objectOf(chance: Chance): VirtualServer {
  const record = recordOf(chance);
  const annotations = INPUT_ANNOTATIONS.filter(() => chance.below(16) === 0).map((name) => [name, chance.text()]);
  return web({
    annotated: chance.oneOf<ServerRecord | string>(
      record,
      record,
      record,
      chance.text(),
      `{"owner":${JSON.stringify(chance.text())}}`,
    ),
    ...chance.oneOf({ mirror: record }, { mirror: recordOf(chance) }, {}),
    annotations: Object.fromEntries(annotations) as Record<string, string>,
    deleting: chance.below(2) === 0,
    spec: { product: chance.text(), deletionPolicy: chance.oneOf('Delete', 'Retain'), connectionSecretName: 'web' },
  });
}

function givenFor({ spec }: VirtualServer, chance: Chance): Given {
  const missing = {
    ok: false,
    error: { reason: 'SecretInvalid', message: `Secret ${chance.text()} is invalid` },
  } as const;
  const identifier = chance.text();
  return {
    ...(chance.below(3) === 0 && { key: missing }),
    answers: answersOf(chance, chance.oneOf(spec.product, chance.text())),
    others: { withServer: () => chance.oneOf([], [`default/${chance.text()}`]) },
    notes: chance.oneOf([], [{ attempt: chance.text(), state: 'sending' } as const]),
    memo: memo(chance.oneOf<Evidence>({}, { end: { state: 'gone', identifier, wasRequested: false } })),
    secrets: fakeSecrets({ get: () => Promise.reject(new KubeError('Forbidden', chance.text(), { status: 403 })) }),
  };
}

function answersOf(chance: Chance, product: string): Answers {
  const error = new ProviderError('PROVIDER_UNREACHABLE', chance.text());
  const text = chance.text();
  const server = {
    ...SERVER,
    name: text,
    status: chance.oneOf('running', text),
    product: text,
    zone: { name: text, code: text },
    hostServer: text,
    specs: { diskType: text },
    ipv4: [text],
    ipv6: [text],
    macs: [text],
    adminConsole: { hostname: chance.oneOf('host', text), username: text },
    sshProxy: { hostname: text, port: 22 },
  };
  return {
    catalog: { ...CATALOG, products: [{ code: product }] },
    order: { kind: 'refused', status: 400, error: new ResponseError(400, chance.text()) },
    task: chance.oneOf<TaskState | Error>({ state: 'pending', identifier: chance.maybe(text), status: text }, error),
    server: chance.oneOf<Server | Error>(server, server, server, error, DENIED),
    removed: chance.oneOf<string | Error>(text, error, DENIED),
    after: chance.oneOf<Server | Error>(server, error, DENIED),
  };
}

/** All texts of the status except those used in calls, which keep the provider's spelling. */
function shown({ record: _record, identifier: _identifier, ...status }: VirtualServerStatus): string[] {
  const texts: string[] = [];
  JSON.stringify(status, (_key, value: unknown) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts;
}

it('keeps conditions, fields, Events and log lines of random objects printable', async () => {
  const timers = new FakeTimers();
  const notes: string[] = [];
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  const create = ({ note }: { note: string }): Promise<never> => {
    notes.push(note);
    return Promise.reject(new Error(note));
  };
  const recorder = new EventRecorder({ create }, timers, log);
  const reasons = new Set<string>();
  const calls = new Set<string>();
  for (let seed = 1; seed <= RUNS; seed++) {
    const chance = new Chance(seed);
    const object = objectOf(chance);
    const visited = await visit(object, givenFor(object, chance));
    for (const call of visited.calls) calls.add(call);
    const { status } = visited.object ?? {};
    for (const { reason } of status?.conditions ?? []) reasons.add(reason);
    const unprintable = shown(status ?? {}).filter((text) => UNPRINTABLE.test(text));
    if (unprintable.length > 0) throw new Error(`seed ${seed}: ${JSON.stringify(unprintable)}`);
    recorder.record(SERVER_KIND, object, 'visit', visited.events);
    const record = knownRecord(visited.object ?? object);
    log.info({ ...object.metadata, record, events: visited.events, now: NOW }, chance.text());
  }
  await recorder.flush();
  expect(notes.filter((note) => UNPRINTABLE.test(note))).toEqual([]);
  expect(
    lines.filter(
      (line) => !/^[^\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+\n$/u.test(line),
    ),
  ).toEqual([]);
  expect(lines.length).toBeGreaterThanOrEqual(RUNS);
  // Check that the test still reaches these texts; otherwise it proves nothing.
  expect([...calls]).toEqual(expect.arrayContaining(['order', 'poll', 'read', 'delete', 'after']));
  expect(notes.length).toBeGreaterThan(20);
  expect(reasons.size).toBeGreaterThan(15);
});
