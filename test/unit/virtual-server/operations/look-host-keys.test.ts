/** What a look does with the host keys that the SSH check finds. */
import { describe, expect, it } from 'vitest';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { NewSecret } from '../../../../src/kube/kinds.ts';
import type { ProbeResult } from '../../../../src/virtual-server/decision/reach.ts';
import { HOST_KEY, KNOWN, OTHER_HOST_KEY, SERVER, webWith } from '../../../fixtures/decision.ts';
import { fakeSecrets } from '../../../fixtures/doubles.ts';
import { visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const pinnedKey = { ...HOST_KEY, firstSeen: '2026-01-01T00:00:00Z' };
const STATUS: VirtualServerStatus = {
  serverStatus: 'running',
  identifier: 'srv1',
  macs: SERVER.macs,
  ipv6: SERVER.ipv6,
  sshHostKeys: [pinnedKey],
};
const shows = (key: typeof HOST_KEY | typeof OTHER_HOST_KEY): ProbeResult => ({
  ok: true,
  value: { banner: 'SSH-2.0-x', key },
});

function checked(annotations: Record<string, string> = {}, status = STATUS): VirtualServer {
  return webWith(KNOWN, { spec: { sshCheck: 'Proxy', connectionSecretName: 'web' }, annotations, status });
}

/** A look; `written`: known_hosts as the Secret has it afterwards. */
async function look(
  object: VirtualServer,
  probe: ProbeResult,
  given: Given = {},
): Promise<Visited & { written: string }> {
  let written = '';
  const secrets = fakeSecrets({
    get: () => Promise.resolve(undefined),
    create: (secret: NewSecret) => {
      written = secret.data.known_hosts ?? '';
      return Promise.resolve({ ...secret, metadata: { ...secret.metadata, uid: 'u', resourceVersion: '1' } });
    },
    patch: () => Promise.resolve(),
  });
  return { ...(await visit(object, { answers: { server: SERVER }, secrets, probe, ...given })), written };
}

const keysIn = ({ object }: Visited): string[] => object?.status?.sshHostKeys?.map(({ key }) => key) ?? [];
const conditionIn = ({ object }: Visited, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type);

describe('a look', () => {
  it('keeps the first key: in the status, and in the Secret once the status holds it', async () => {
    const { sshHostKeys: _none, ...status } = STATUS;
    const looked = await look(checked({}, status), shows(HOST_KEY));
    expect(keysIn(looked)).toEqual([HOST_KEY.key]);
    expect(looked.written).toBe('');
    expect(conditionIn(looked, 'HostKeyChanged')).toBeUndefined();
    const again = await look(looked.object as VirtualServer, shows(HOST_KEY));
    expect(again.written).toContain(HOST_KEY.key);
    const [soon, later] = [looked, again].map(({ requeueAfterMs }) => requeueAfterMs ?? 0);
    expect(soon).toBeLessThan(later ?? 0);
  });

  it('trusts no other key, reports it, and keeps Ready', async () => {
    const looked = await look(checked(), shows(OTHER_HOST_KEY));
    expect(keysIn(looked)).toEqual([HOST_KEY.key]);
    expect(looked.written).toContain(HOST_KEY.key);
    expect(looked.written).not.toContain(OTHER_HOST_KEY.key);
    expect(conditionIn(looked, 'Ready')?.status).toBe('True');
    expect(conditionIn(looked, 'HostKeyChanged')).toMatchObject({
      status: 'True',
      subject: OTHER_HOST_KEY.fingerprint,
    });
    const warnings = looked.events.filter(({ reason }) => reason === 'HostKeyChanged');
    expect(warnings).toEqual([expect.objectContaining({ type: 'Warning' })]);
    const command = `vps-operator.dev/accept-host-key=${OTHER_HOST_KEY.fingerprint}`;
    expect(conditionIn(looked, 'HostKeyChanged')?.message).toContain(command);
  });

  it('reports a changed key once, until the known key is back', async () => {
    const first = await look(checked(), shows(OTHER_HOST_KEY));
    const again = await look(first.object as VirtualServer, shows(OTHER_HOST_KEY));
    expect(again.events).toEqual([]);
    const silent = await look(again.object as VirtualServer, { ok: true, value: { banner: 'x', noKey: 'no' } });
    expect(conditionIn(silent, 'HostKeyChanged')).toBeDefined();
    expect(conditionIn(silent, 'Reachable')?.message).toContain('could not read its host key: no');
    const back = await look(silent.object as VirtualServer, shows(HOST_KEY));
    expect(conditionIn(back, 'HostKeyChanged')).toBeUndefined();
    expect(keysIn(back)).toEqual([HOST_KEY.key]);
  });

  it('trusts the key that the annotation names', async () => {
    const changed = await look(checked(), shows(OTHER_HOST_KEY));
    const { metadata } = changed.object as VirtualServer;
    const annotations = { ...metadata.annotations, [ACCEPT_HOST_KEY_ANNOTATION]: OTHER_HOST_KEY.fingerprint };
    const accepted = { ...(changed.object as VirtualServer), metadata: { ...metadata, annotations } };
    const looked = await look(accepted, shows(OTHER_HOST_KEY));
    expect(keysIn(looked)).toEqual([OTHER_HOST_KEY.key]);
    expect(looked.written).not.toContain(OTHER_HOST_KEY.key);
    expect(conditionIn(looked, 'HostKeyChanged')).toBeUndefined();
    const again = await look(looked.object as VirtualServer, shows(OTHER_HOST_KEY));
    expect(again.written).toContain(OTHER_HOST_KEY.key);
    expect(again.written).not.toContain(HOST_KEY.key);
    // The annotation is still there, and means nothing for the next key.
    expect(keysIn(await look(looked.object as VirtualServer, shows(HOST_KEY)))).toEqual([OTHER_HOST_KEY.key]);
  });

  it('trusts no other key than the one that an operator has learned while it only observed', async () => {
    const { sshHostKeys: _none, ...status } = STATUS;
    const { record: _lost, ...shown } = checked({}, status).status ?? {};
    const object = { ...checked({}, status), status: shown };
    const observed = await look(object, shows(HOST_KEY), { observes: 'reporting' });
    expect(keysIn(observed)).toEqual([HOST_KEY.key]);
    expect(observed.object?.status?.record).toBeUndefined();
    const acting = await look(observed.object as VirtualServer, shows(OTHER_HOST_KEY));
    expect(keysIn(acting)).toEqual([HOST_KEY.key]);
    expect(conditionIn(acting, 'HostKeyChanged')?.subject).toBe(OTHER_HOST_KEY.fingerprint);
  });

  it('keeps the keys without sshCheck, and drops the keys of another server', async () => {
    const unchecked = webWith(KNOWN, { status: STATUS });
    expect(keysIn(await visit(unchecked, { answers: { server: SERVER } }))).toEqual([HOST_KEY.key]);
    const macs = ['00:00:5e:00:53:ff'];
    const accepted = checked({ 'vps-operator.dev/accept-server': `srv1@${macs[0]}` });
    const replaced = await look(accepted, shows(OTHER_HOST_KEY), { answers: { server: { ...SERVER, macs } } });
    expect(keysIn(replaced)).toEqual([OTHER_HOST_KEY.key]);
    const moved = webWith({ ...KNOWN, identifier: 'srv2' }, { status: { ...STATUS, record: { ...KNOWN } } });
    const down = await visit(moved, { answers: { server: { ...SERVER, identifier: 'srv2', macs } } });
    expect(keysIn(down)).toEqual([]);
  });
});
