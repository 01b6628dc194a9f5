/** What the writer of connection Secrets does when the API server says no. What it writes: test/integration/connection-secret.test.ts. */
import { describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import { ConnectionSecrets } from '../../../src/controller/connection-secrets.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { Secrets } from '../../../src/kube/secrets.ts';
import type { KubeErrorCode } from '../../../src/kube/types.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Server } from '../../../src/provider/types.ts';
import { HELD, SERVER, UID, webWith } from '../../gen/decision.ts';

const PASSWORD = 'vnc-pa55word';
const WITH_VNC: Server = { ...SERVER, vnc: { password: PASSWORD } };
const log = createLogger({ level: 'silent' });
const object = webWith(HELD, { spec: { connectionSecretName: 'web-connection' } });

/** An API server that has a Secret of the object, without its reference, and answers every write with an error. */
const refusing = (error: Error): Secrets => ({
  get: (namespace, name) =>
    Promise.resolve({
      metadata: {
        namespace,
        name,
        uid: 'uid-of-secret',
        resourceVersion: '7',
        annotations: { [OWNER_ANNOTATION]: UID },
      },
      type: CONNECTION_SECRET_TYPE,
      data: { vncPassword: 'old' },
    }),
  create: () => Promise.reject(error),
  patch: () => Promise.reject(error),
});
const writer = (error: Error): ConnectionSecrets => new ConnectionSecrets(refusing(error), log);

describe('a connection Secret that cannot be written', () => {
  it.each<KubeErrorCode>(['Forbidden', 'Invalid', 'Conflict', 'Unreachable', 'ServerError', 'TooManyRequests'])(
    'is said, and holds nothing up, after the answer %s',
    async (code) => {
      const connection = await writer(new KubeError(code, `no: ${code}`)).write(object, WITH_VNC);
      expect(connection).toEqual({ state: 'failed', why: `no: ${code}` });
    },
  );

  it('is said without the password that an answer quotes', async () => {
    const quoted = `denied: ${PASSWORD}, ${Buffer.from(PASSWORD).toString('base64')}`;
    const connection = await writer(new KubeError('Invalid', quoted)).write(object, WITH_VNC);
    expect(connection).toEqual({ state: 'failed', why: 'denied: ***, ***' });
  });

  it('is a bug when the error is none of the API server', async () => {
    await expect(writer(new TypeError('x')).write(object, WITH_VNC)).rejects.toThrow(TypeError);
  });

  it.each<KubeErrorCode>(['Forbidden', 'Invalid', 'NotFound', 'Rejected'])(
    'keeps nothing from its end when another try would bring the same answer: %s',
    async (code) => {
      await writer(new KubeError(code, 'no')).letGo(object);
      await writer(new KubeError(code, 'no')).empty(object);
    },
  );

  it.each<KubeErrorCode>(['Conflict', 'Unreachable', 'ServerError', 'TooManyRequests', 'Expired', 'BadResponse'])(
    'is tried again before its object is let go or its server forgotten, after the answer %s',
    async (code) => {
      await expect(writer(new KubeError(code, 'no')).letGo(object)).rejects.toThrow('no');
      await expect(writer(new KubeError(code, 'no')).empty(object)).rejects.toThrow('no');
    },
  );

  it('is written no more once its object is being deleted', async () => {
    const deleting = webWith(HELD, { deleting: true, spec: { connectionSecretName: 'web-connection' } });
    expect(await writer(new KubeError('Forbidden', 'asked')).write(deleting, WITH_VNC)).toBeUndefined();
  });
});
