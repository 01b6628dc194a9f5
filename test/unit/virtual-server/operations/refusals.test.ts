/** Which answers of the provider end a change or a call about power, and after which ones the operator asks again. */
import { describe, expect, it } from 'vitest';
import { REBOOT_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { ProviderError } from '../../../../src/provider/error.ts';
import { failureOf } from '../../../../src/provider/failure.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { PRICED, SERVER, webWith } from '../../../fixtures/decision.ts';
import { visit } from '../../../fixtures/visits.ts';

const READY = { ...PRICED, readyAt: '2026-01-01T01:00:00Z' };
const ASKED = '2026-01-02T00:00:00Z';

/** The error that the client makes of this answer. */
const answered = (status: number, message = 'No'): ProviderError =>
  failureOf({ status, headers: {}, body: JSON.stringify({ message }) }, 'setPower', {
    clean: (text) => text,
    cause: () => new Error('unexpected'),
  });

const recordOf = (object: VirtualServer | null | undefined): ServerRecord | undefined =>
  object ? knownRecord(object) : undefined;

const GONE = 'Server does not exist';

describe.each<[number, string, 'final' | 'repeated', 'not restarted' | 'perhaps restarted' | 'not asked']>([
  [400, 'No', 'final', 'not restarted'],
  [402, 'No', 'final', 'not restarted'],
  [403, 'No', 'final', 'not restarted'],
  [413, 'No', 'final', 'not restarted'],
  [415, 'No', 'final', 'not restarted'],
  [422, 'No', 'final', 'not restarted'],
  // The server is gone, or the key is wrong for it: the next read tells.
  [403, GONE, 'repeated', 'not restarted'],
  [404, GONE, 'repeated', 'not restarted'],
  [410, GONE, 'repeated', 'not restarted'],
  // The server is busy, or the request came too early.
  [409, 'No', 'repeated', 'not restarted'],
  [423, 'No', 'repeated', 'not restarted'],
  [425, 'No', 'repeated', 'not restarted'],
  [429, 'No', 'repeated', 'not asked'],
  // Nobody knows what these are to mean about the next request.
  ...[406, 411, 412, 418, 421, 424, 426, 428, 451, 499].map((status): [number, string, 'repeated', 'not restarted'] => [
    status,
    'No',
    'repeated',
    'not restarted',
  ]),
  // Nothing tells whether the provider has acted.
  [302, 'No', 'repeated', 'perhaps restarted'],
  [408, 'No', 'repeated', 'perhaps restarted'],
  [500, 'No', 'repeated', 'perhaps restarted'],
  [502, 'No', 'repeated', 'perhaps restarted'],
  [503, 'No', 'repeated', 'perhaps restarted'],
  [504, 'No', 'repeated', 'perhaps restarted'],
])('the answer %i with the text "%s"', (status, text, meaning, restart) => {
  const error = answered(status, text);

  it(`to a change is ${meaning}`, async () => {
    const object = webWith(READY, {
      spec: { changePolicy: 'Online', product: 'VPSX8' },
      status: { serverStatus: 'running' },
    });
    const next = await visit(object, { answers: { server: SERVER, changed: error } });
    expect(next.changes).toHaveLength(1);
    expect(recordOf(next.object)?.change?.refused !== undefined).toBe(meaning === 'final');
    expect(next.memo.evidence.change?.retryAt !== undefined).toBe(meaning === 'repeated');
  });

  it(`to a shutdown is ${meaning}`, async () => {
    const object = webWith(READY, { spec: { power: 'Off' }, status: { serverStatus: 'running' } });
    const next = await visit(object, { answers: { server: SERVER, power: error } });
    const state = meaning === 'final' ? 'refused' : 'failed';
    expect(next.memo.evidence.power?.last).toMatchObject({ call: 'shutdown', answer: { state } });
  });

  it(`to a restart leaves the server ${restart}`, async () => {
    const object = webWith(READY, {
      annotations: { [REBOOT_ANNOTATION]: ASKED },
      status: { serverStatus: 'running' },
    });
    const next = await visit(object, { answers: { server: SERVER, power: error } });
    expect(next.calls).toContain('reboot');
    const { reboot } = recordOf(next.object) ?? {};
    expect(reboot?.asked).toBe(restart === 'not asked' ? undefined : ASKED);
    expect(reboot?.answer).toBe(restart === 'not restarted' ? 'Refused' : undefined);
  });
});
