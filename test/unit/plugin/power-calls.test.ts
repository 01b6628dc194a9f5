/** What objects show about calls that the provider does not have. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { callFor, lackTold, type PowerRequest } from '../../../src/plugin/decisions/power-calls.ts';
import type { PowerCall } from '../../../src/virtual-server/decision/memo.ts';
import { PRICED, SERVER, webWith } from '../../fixtures/decision.ts';
import { visit } from '../../fixtures/visits.ts';
import { apiServer, runProgram } from './support.ts';

const READY = { ...PRICED, readyAt: '2026-01-01T01:00:00Z' };
const SAID = 'the provider API has no such call';

/** The object after a visit in which the provider had no call for what spec asks of this server. */
async function without(power: 'On' | 'Off' | 'Dormant', server: object): Promise<VirtualServer> {
  const object = webWith(READY, { spec: { power } });
  const ended = await visit(object, { answers: { server: { ...SERVER, ...server }, power: 'notOffered' } });
  return ended.object as VirtualServer;
}

const CALLS: readonly PowerCall[] = ['power-on', 'power-off', 'shutdown', 'dormant', 'wake', 'reboot'];

describe('a call that the provider does not have', () => {
  it.each<[() => Promise<VirtualServer> | VirtualServer, PowerCall[]]>([
    [() => without('Off', {}), ['shutdown']],
    [() => without('On', { isDormant: true }), ['wake']],
    [() => without('Off', { isDormant: true }), ['wake']],
    [() => without('Dormant', {}), ['dormant']],
    [() => webWith({ ...READY, reboot: { asked: '2026-01-02T00:00:00Z', answer: 'Refused', said: SAID } }), ['reboot']],
    [() => webWith({ ...READY, reboot: { asked: '2026-01-02T00:00:00Z', answer: 'Refused', said: 'no' } }), []],
    [() => webWith(READY), []],
  ])('is known by what the object shows, and no other call with it (%#)', async (shown, expected) => {
    const object = await shown();
    expect(CALLS.filter((call) => lackTold(call, object) !== undefined)).toEqual(expected);
  });

  it.each<[PowerRequest, string, PowerCall | undefined]>([
    ['On', 'running', undefined],
    ['On', 'shut down', 'power-on'],
    ['On', 'dormant', 'wake'],
    ['Off', 'running', 'shutdown'],
    ['Off', 'shut down', undefined],
    ['Off', 'starting', undefined],
    ['Dormant', 'running', 'dormant'],
    ['reboot', 'running', 'reboot'],
  ])('%s of a server that is %s needs a call', (wanted, serverStatus, call) => {
    const price = { ...READY.price, ...(serverStatus === 'dormant' && { isDormant: true as const }) };
    const record = { ...READY, price };
    expect(callFor(wanted, webWith(record, { status: { serverStatus } }))).toBe(call);
  });
});

/** Runs the command against a cluster with these objects; `lists`: how often it has listed them. */
async function run(words: string[], objects: readonly VirtualServer[]) {
  const { file, requests } = await apiServer(({ method, url }) => {
    const path = new URL(url ?? '', 'http://x').pathname;
    if (path.endsWith('/virtualservers')) return { items: objects };
    const name = path.split('/').at(-1);
    return method === 'GET' || method === 'PATCH' ? objects.find(({ metadata }) => metadata.name === name) : undefined;
  });
  const ended = await runProgram([...words, '--kubeconfig', file]);
  const lists = requests.filter(({ url }) => new URL(url ?? '', 'http://x').pathname.endsWith('/virtualservers'));
  const changed = requests.filter(({ method }) => method === 'PATCH').length;
  return { ...ended, lists: lists.length, changed };
}

const named = (name: string, object: VirtualServer): VirtualServer => ({
  ...object,
  metadata: { ...object.metadata, name, namespace: 'default' },
});
const RUNNING = named('db', webWith(READY, { status: { serverStatus: 'running' } }));

describe('the commands', () => {
  it('tell what is known about the very call, and ask the operator all the same', async () => {
    const known = named('web', await without('Off', {}));
    const stopped = await run(['stop', 'db'], [known, RUNNING]);
    expect([stopped.code, stopped.changed]).toEqual([0, 1]);
    expect(stopped.said).toMatch(/^note: the provider API has no call to shut .* for web: kubectl vps status web/);
    expect(stopped.said).toMatch(/vps ssh db .*-- poweroff/);
    const suspended = await run(['suspend', 'db', '--yes'], [known, RUNNING]);
    expect([suspended.code, suspended.changed, suspended.said]).toEqual([0, 1, expect.not.stringContaining('note:')]);
    const again = await run(['stop', 'web'], [known]);
    expect([again.code, again.changed, again.printed]).toEqual([0, 0, 'web is already set to be off\n']);
    expect(again.said).toMatch(/vps start web .*# takes the request back/);
  });

  it('ask for a restart again after one that the provider had no call for', async () => {
    const reboot = { asked: '2025-01-02T00:00:00Z', answer: 'Refused', said: SAID } as const;
    const object = named('web', webWith({ ...READY, reboot }, { status: { serverStatus: 'running' } }));
    const ended = await run(['reboot', 'web'], [object]);
    expect([ended.code, ended.changed]).toEqual([0, 1]);
    expect(ended.said).toMatch(/^note: the provider API has no call to restart server/);
  });

  it('list many servers once for all of them, and tell each finding once', async () => {
    const known = named('web', await without('Off', {}));
    const many = Array.from({ length: 20 }, (_, index) => named(`db-${index}`, RUNNING));
    const ended = await run(['stop', ...many.map(({ metadata }) => metadata.name)], [known, ...many]);
    expect([ended.code, ended.changed, ended.lists]).toEqual([0, 20, 1]);
    expect(ended.said.match(/note:/g)).toHaveLength(1);
  });
});
