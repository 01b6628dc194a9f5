/** What the operations do with the connection Secret of their object, and with a server that is not the object's. */
import { describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../../src/api/names.ts';
import { currentReason } from '../../../../src/api/conditions.ts';
import type { Secrets } from '../../../../src/kube/kinds.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Server } from '../../../../src/provider/types.ts';
import type { Evidence } from '../../../../src/virtual-server/decision/memo.ts';
import { HELD, KNOWN, SERVER, UID, memo, webWith } from '../../../fixtures/decision.ts';
import { fakeSecrets } from '../../../fixtures/doubles.ts';
import { visit, type Visited } from '../../../fixtures/visits.ts';

const READY = { serverStatus: 'running' };
const CONNECTION = { connectionSecretName: 'web-connection' };

describe('a look', () => {
  /** Looks at a server for an object with an SSH check and a connection Secret. */
  async function look(server: Server): Promise<Visited & { created: number }> {
    let created = 0;
    const secrets = fakeSecrets({
      get: () => Promise.resolve(undefined),
      create: (secret) => {
        created += 1;
        return Promise.resolve({
          ...secret,
          metadata: { ...secret.metadata, uid: 'uid-of-secret', resourceVersion: '1' },
        });
      },
    });
    const object = webWith(KNOWN, { spec: { ...CONNECTION, sshCheck: 'Proxy' } });
    const probe = { ok: true, value: { banner: 'SSH-2.0-OpenSSH_10.0' } } as const;
    return {
      ...(await visit(object, {
        answers: { task: { state: 'complete', identifier: 'srv1' }, server },
        secrets,
        probe,
      })),
      created,
    };
  }

  it('checks SSH and writes the connection Secret of a server that it recognizes', async () => {
    const { calls, created, object } = await look(SERVER);
    expect(calls.filter((call) => call === 'probe')).toHaveLength(1);
    expect(created).toBe(1);
    expect(currentReason(object?.status?.conditions)).toBe('Available');
  });

  it('does neither for another server with the same identifier', async () => {
    const { calls, created, object } = await look({ ...SERVER, macs: ['00:00:5e:00:53:ff'] });
    expect(calls).not.toContain('probe');
    expect(created).toBe(0);
    expect(currentReason(object?.status?.conditions)).toBe('IdentityUnproven');
  });
});

/** A Secret of `web` that exists, and its password after all that was written. */
function secretOfWeb(): { secrets: Secrets; password: () => string | null | undefined } {
  const metadata = { namespace: 'default', name: 'web-connection', uid: 'uid-of-secret', resourceVersion: '7' };
  let data: Record<string, string | null> = { vncPassword: 'a password' };
  const secrets = fakeSecrets({
    get: () =>
      Promise.resolve({
        metadata: { ...metadata, annotations: { [OWNER_ANNOTATION]: UID } },
        type: CONNECTION_SECRET_TYPE,
        data: data as Record<string, string>,
      }),
    patch: (_metadata, changes) => {
      data = { ...data, ...changes.data };
      return Promise.resolve();
    },
  });
  return { secrets, password: () => data.vncPassword };
}

describe('a release', () => {
  const doomed = (deletionPolicy: 'Delete' | 'Retain', own: Parameters<typeof webWith>[0] = KNOWN): VirtualServer =>
    webWith(own, { deleting: true, status: READY, spec: { ...CONNECTION, deletionPolicy } });
  const released = async (object: VirtualServer, evidence: Evidence): Promise<string | null | undefined> => {
    const { secrets, password } = secretOfWeb();
    const visited = await visit(object, { memo: memo(evidence), secrets });
    expect(visited.object).toBeUndefined();
    return password();
  };

  it('empties a Secret that outlives its object and its server', async () => {
    const expired = { ...HELD, expiredAt: '2026-01-01T00:00:00Z' };
    expect(await released(doomed('Retain', expired), {})).toBeNull();
  });

  it('does not empty the Secret of a retained server', async () => {
    expect(await released(doomed('Retain'), {})).toBe('a password');
  });

  it.each([
    { state: 'confirmed', identifier: 'srv1' } as const,
    { state: 'gone', identifier: 'srv1', wasRequested: false } as const,
  ])('does not empty a Secret that is deleted with its object ($state)', async (end) => {
    expect(await released(doomed('Delete'), { end })).toBe('a password');
  });
});

it('an expiry empties the Secret, since the object stays', async () => {
  const { secrets, password } = secretOfWeb();
  const object = webWith(KNOWN, { status: READY, spec: { ...CONNECTION, expiresAt: '2026-01-01T00:00:00Z' } });
  const end = { state: 'confirmed', identifier: 'srv1' } as const;
  const visited = await visit(object, { memo: memo({ end }), secrets });
  expect(currentReason(visited.object?.status?.conditions)).toBe('Expired');
  expect(password()).toBeNull();
});
