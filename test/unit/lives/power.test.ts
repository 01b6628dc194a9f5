/** How the simulated lives judge a call about power after another server has got the identifier of an object's server. */
import { describe, expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { Simulation } from '../../../src/simulator/index.ts';
import { withAnnotations, withSpec, virtualServer } from '../../fixtures/virtual-server.ts';
import { ApiServer } from '../../lives/api-server.ts';
import { PowerPeople } from '../../lives/power.ts';
import { Random } from '../../lives/random.ts';

const ACCOUNT = 'default';
const NAME = 'vs1';
const target = { origin: 'https://provider.example', path: `/beta/vps/servers/${NAME}` };

/** What is wrong with a `dormant` for the other server, which is off. `reader`: the process that has read it before. */
function judged(
  power: VirtualServerSpec['power'],
  offAddresses: 'kept' | 'dropped',
  { reader = 'sender', fingerprint }: { reader?: string; fingerprint?: { macs?: string[]; ipv6: string[] } } = {},
): string[] {
  const now = (): number => Date.parse('2026-01-01T00:00:00Z');
  const simulation = new Simulation();
  simulation.provider.setVariants({ offAddresses });
  const api = new ApiServer(now);
  const people = new PowerPeople({
    api,
    simulation,
    ownership: { ownedBy: () => new Set([1]) },
    random: new Random(1),
    now,
    tell: () => undefined,
    isForChange: () => false,
    canStart: true,
  });
  simulation.fleet.addServer(ACCOUNT, { identifier: NAME });
  simulation.fleet.removeServer(NAME);
  simulation.fleet.reuseIdentifier(NAME);
  simulation.fleet.updateServer(NAME, { status: 'shut down' });
  const record = { owner: 'uid-1', mode: 'adopt', identifier: NAME, fingerprint };
  const annotated = withAnnotations({ [RECORD_ANNOTATION]: JSON.stringify(record) });
  api.create('default', virtualServer('web', withSpec({ power }), annotated));

  const body = JSON.stringify(simulation.fleet.find(ACCOUNT, NAME)?.object);
  people.heardBy(reader, { operation: 'readServer', target }, { status: 200, body });
  people.sentBy('sender', { operation: 'setDormant', target: { ...target, path: `${target.path}/dormant` } });
  simulation.fleet.switch(ACCOUNT, NAME, 'dormant');
  people.judge();
  return people.violations;
}

const REPORTED = ['server vs1 (serial 2) got dormant, which no object that holds it had asked for'];

describe('a call for another server with the identifier of the object', () => {
  it('is reported if the read before it showed the addresses of that server', () => {
    expect(judged('Dormant', 'kept')).toEqual(REPORTED);
  });

  it('is not reported if the read before it showed no addresses', () => {
    expect(judged('Dormant', 'dropped')).toEqual([]);
  });

  it('is not reported if the record has nothing but IPv6 addresses, which may change', () => {
    const ipv6 = ['2001:db8::1'];
    expect(judged('Dormant', 'kept', { fingerprint: { ipv6 } })).toEqual([]);
    expect(judged('Dormant', 'kept', { fingerprint: { ipv6, macs: ['52:54:00:00:00:01'] } })).toEqual(REPORTED);
  });

  it('is reported without addresses too if the object does not ask for it', () => {
    expect(judged('On', 'dropped')).toEqual(REPORTED);
  });

  it('is reported if only another process has read the server', () => {
    expect(judged('Dormant', 'dropped', { reader: 'another' })).toEqual(REPORTED);
  });
});
