/** What the writer of connection Secrets does when the API server says no. What it writes: test/integration/connection-secret.test.ts. */
import { describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { ConnectionSecrets } from '../../../src/controller/connection-secrets.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { Secrets } from '../../../src/kube/secrets.ts';
import type { KubeErrorCode } from '../../../src/kube/types.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Server } from '../../../src/provider/types.ts';
import { HELD, SERVER, UID, webWith } from '../../gen/decision.ts';

const PASSWORD = 'vnc-pa55word';
const OLD_PASSWORD = 'vnc-0ldword';
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
      data: { vncPassword: OLD_PASSWORD },
    }),
  create: () => Promise.reject(error),
  patch: () => Promise.reject(error),
});
/** `live`: the object as the API server has it now. */
const writer = (error: Error, { live }: { live: VirtualServer | undefined } = { live: object }): ConnectionSecrets =>
  new ConnectionSecrets(refusing(error), log, { getVirtualServer: () => Promise.resolve(live) });

const quoting = (...passwords: string[]): string =>
  passwords.map((password) => `${password}, ${Buffer.from(password).toString('base64')}`).join('; ');

describe('a connection Secret that cannot be written', () => {
  it.each<KubeErrorCode>(['Forbidden', 'Invalid', 'Unreachable', 'ServerError', 'TooManyRequests'])(
    'is said, and holds nothing up, after the answer %s',
    async (code) => {
      const connection = await writer(new KubeError(code, `no: ${code}`)).write(object, WITH_VNC);
      expect(connection).toEqual({ state: 'failed', why: `no: ${code}` });
    },
  );

  it('is said without the passwords, new and old, that an answer quotes', async () => {
    const refusal = new KubeError('Invalid', `denied: ${quoting(PASSWORD, OLD_PASSWORD)}`);
    const connection = await writer(refusal).write(object, WITH_VNC);
    expect(connection).toEqual({ state: 'failed', why: 'denied: ***, ***; ***, ***' });
  });

  it('fails an end without the password that an answer quotes', async () => {
    const refusal = new KubeError('ServerError', `failed: ${quoting(OLD_PASSWORD)}`, { retryAfterMs: 7 });
    const masked = { code: 'ServerError', message: 'failed: ***, ***', retryAfterMs: 7 };
    await expect(writer(refusal).letGo(object)).rejects.toMatchObject(masked);
    await expect(writer(refusal).empty(object)).rejects.toMatchObject(masked);
  });

  it.each([
    ['is gone', undefined],
    ['was changed', { ...object, metadata: { ...object.metadata, resourceVersion: '999' } }],
    ['was made anew', { ...object, metadata: { ...object.metadata, uid: 'uid-of-another' } }],
  ])('is not touched for the sake of an object that %s meanwhile', async (_, live) => {
    const asked = writer(new TypeError('a write was asked for'), { live });
    await expect(asked.write(object, WITH_VNC)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(asked.letGo(object)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(asked.empty(object)).rejects.toMatchObject({ code: 'Conflict' });
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
