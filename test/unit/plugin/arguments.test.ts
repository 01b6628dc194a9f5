import { describe, expect, it } from 'vitest';
import { durationFor, durationOf, inHours, limitOf } from '../../../src/plugin/flags/arguments.ts';
import { checkSpec, specFrom, type SpecFlags } from '../../../src/plugin/flags/spec-flags.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';

const HOUR = 3_600_000;

describe('a duration with days', () => {
  it.each([
    ['4d', '96h'],
    ['1d12h', '36h'],
    ['1d30m', '24h30m'],
    ['1d1h1m1s', '25h1m1s'],
    ['90d', '2160h'],
    ['90m', '90m'],
    ['4 d', '4 d'],
    ['d', 'd'],
  ])('%s is %s in a spec', (text, hours) => expect(inHours(text)).toBe(hours));

  it('is a time to wait, and a field of spec', () => {
    expect([durationOf('2d'), durationOf('90s'), limitOf('1d'), limitOf('0d')]).toEqual([
      48 * HOUR,
      90_000,
      24 * HOUR,
      Infinity,
    ]);
    expect(durationFor('ttl')('60d')).toBe('1440h');
    for (const text of ['0d', 'soon', '4days', '1d2d']) {
      expect(() => durationOf(text)).toThrow('Use a duration');
      expect(() => durationFor('ttl')(text)).toThrow('Use a duration above 0, such as 72h, 4d or 1h30m.');
    }
  });
});

describe('a spec from flags', () => {
  const flags = {
    product: 'VPSX4',
    image: 'i',
    diskSize: 1,
    sshKey: [SSH_KEY],
    sshKeyFrom: [],
    advanced: [],
    ipv4: false,
    forwardDns: false,
    reverseDns: false,
    retain: false,
    protect: false,
  };
  const check = (more: Partial<SpecFlags>) => () => checkSpec(specFrom({ ...flags, ...more }));

  it.each([
    [{ expiresAt: 'tomorrow' }, '--expires-at: must be a time that exists'],
    [{ userDataFrom: 'UP/key' }, '--user-data-from: must be the name of a Secret'],
    [{ userDataFrom: 'configmap/UP/key' }, '--user-data-from: must be the name of a ConfigMap'],
    [
      { userDataFrom: 'setup/data', storedUserData: '1' },
      '--stored-user-data, --user-data-from: set only one of userData, userDataFrom and storedUserData',
    ],
    [{ sshKeyFrom: ['UP/key'] }, '--ssh-key-from: must be the name of a Secret'],
    [{ ttl: '1h', expiresAt: '2099-01-01T00:00:00Z' }, '--expires-at, --ttl: set expiresAt or ttl, not both'],
    [{ ttl: '1h', retain: true }, '--retain, --ttl: expiresAt and ttl require deletionPolicy: Delete'],
    [{ hostname: 'a_b' }, '--hostname: must be a DNS name'],
    [{ advanced: ['cpuMode=Fast'] }, '--advanced cpuMode: Invalid option'],
    [{ advanced: ['extraCores=many', 'cpuMode=Performance'] }, '--advanced extraCores: '],
    [{ storedUserData: '' }, '--stored-user-data: '],
    [{ sshKey: [] }, 'spec: set at least one SSH key'],
  ])('that is wrong (%j) names the flag', (more, error) => expect(check(more)).toThrow(error));

  it('has rare fields in one object, with the type of each', () => {
    const advanced = ['hostServer=12', 'extraCores=2', 'cpuMode=Performance', 'tablet=false', 'netDevice=a=b'];
    expect(specFrom({ ...flags, advanced })).toMatchObject({
      advanced: { hostServer: '12', extraCores: 2, cpuMode: 'Performance', tablet: false, netDevice: 'a=b' },
    });
    for (const wrong of ['cores=2', 'extraCores', '=2', 'constructor=1'])
      expect(() => specFrom({ ...flags, advanced: [wrong] })).toThrow(/use FIELD=VALUE, with one of .*extraMemory/);
  });

  it('has the further fields of the order', () => {
    const more = { ipv4: true, zone: 'lon', hostname: 'web.example.org', serverName: 'Shop', diskType: 'hdd' };
    const dns = { forwardDns: true, reverseDns: true };
    const spec = specFrom({ ...flags, ...more, ...dns, storedUserData: '12' });
    expect(spec).toMatchObject({ ...more, forwardDNS: true, reverseDNS: true, storedUserData: '12' });
    expect(Object.keys(specFrom(flags))).toEqual(['product', 'image', 'diskSize', 'sshKeys']);
  });

  it('from a file names the file and the field', () => {
    const spec = specFrom({ ...flags, ttl: 'soon' });
    expect(() => checkSpec(spec, { file: 'web.yaml' })).toThrow(
      '--filename web.yaml: spec.ttl: ttl must be a duration',
    );
  });
});
