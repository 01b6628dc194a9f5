/**
 * How the writer of connection Secrets handles errors of the API server. What it writes:
 * test/integration/connection-secret/connection-secret.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { ConnectionSecrets } from '../../../src/virtual-server/connection-secret.ts';
import { KubeError, type KubeErrorCode } from '../../../src/kube/error.ts';
import type { Secrets } from '../../../src/kube/kinds.ts';
import { createLogger } from '../../../src/base/logger.ts';
import type { Server } from '../../../src/provider/types.ts';
import { HELD, SERVER, UID, webWith } from '../../fixtures/decision.ts';

const PASSWORD = 'vnc-pa55word';
const OLD_PASSWORD = 'vnc-0ldword';
const WITH_VNC: Server = { ...SERVER, vnc: { password: PASSWORD } };
const log = createLogger({ level: 'silent' });
const object = webWith(HELD, { spec: { connectionSecretName: 'web-connection' } });

/** An API server that has the object's Secret, without its owner reference, and answers every write with an error. */
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
interface Now {
  /** The object on the API server. */
  live?: VirtualServer | undefined;
  leads?: boolean;
}

const writer = (error: Error, now: Now = {}): ConnectionSecrets => {
  const live = 'live' in now ? now.live : object;
  return new ConnectionSecrets({
    secrets: refusing(error),
    kube: { getVirtualServer: () => Promise.resolve(live) },
    leads: () => now.leads ?? true,
    log,
  });
};
const answer = (code: KubeErrorCode, status: number, message: string): KubeError =>
  new KubeError(code, message, { status, reason: PASSWORD });

describe('a connection Secret that cannot be written', () => {
  it.each<[KubeErrorCode, number]>([
    ['Forbidden', 403],
    ['Invalid', 422],
    ['ServerError', 500],
    ['TooManyRequests', 429],
  ])('is reported, and delays nothing, after the answer %s', async (code, status) => {
    const failed = { state: 'failed', why: `the API server answered ${status}` };
    expect(await writer(answer(code, status, 'no')).write(object, WITH_VNC, [])).toEqual(failed);
    expect(await writer(answer(code, status, 'no')).empty(object)).toEqual(failed);
  });

  it('is reported with the text of the network error or of the authorizer, neither of which saw the Secret', async () => {
    const why = 'secrets "web-connection" is forbidden: User "operator" cannot patch resource "secrets"';
    expect(await writer(answer('Forbidden', 403, why)).write(object, WITH_VNC, [])).toEqual({ state: 'failed', why });
    const silence = new KubeError('Unreachable', 'PATCH: no answer within 15000 ms');
    expect(await writer(silence).write(object, WITH_VNC, [])).toEqual({ state: 'failed', why: silence.message });
  });

  it.each([
    ['admission webhook "guard.example.org" denied the request: it holds', 'admission webhook "guard.example.org"'],
    [`secrets "x" is forbidden: ValidatingAdmissionPolicy 'guard' denied it:`, `ValidatingAdmissionPolicy 'guard'`],
  ])('is reported without the data that an answer quotes, and with the source of the answer: %s', async (words, by) => {
    const quoting = `${words} ${PASSWORD} ${OLD_PASSWORD} ${JSON.stringify(PASSWORD).slice(0, 5)}`;
    const why = `the API server answered 403, ${by}`;
    const refusal = answer('Forbidden', 403, quoting);
    expect(await writer(refusal).write(object, WITH_VNC, [])).toEqual({ state: 'failed', why });
    expect(await writer(refusal).empty(object)).toEqual({ state: 'failed', why });
    const fault = new KubeError('ServerError', quoting, { status: 500, reason: PASSWORD, retryAfterMs: 7 });
    const message = `the API server answered 500, ${by}`;
    await expect(writer(fault).letGo(object, false)).rejects.toMatchObject({
      code: 'ServerError',
      message,
      retryAfterMs: 7,
    });
  });

  it.each<[string, Now]>([
    ['if the object no longer exists', { live: undefined }],
    [
      'if a restored etcd shows the same version of an object that is being deleted',
      { live: { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } },
    ],
    ['if the object has changed', { live: { ...object, metadata: { ...object.metadata, resourceVersion: '999' } } }],
    [
      'if the object was created again',
      { live: { ...object, metadata: { ...object.metadata, uid: 'uid-of-another' } } },
    ],
    ['by a deposed leader', { leads: false }],
  ])('is not touched %s', async (_, now) => {
    const asked = writer(new TypeError('a write was asked for'), now);
    await expect(asked.write(object, WITH_VNC, [])).rejects.toMatchObject({ code: 'Conflict' });
    await expect(asked.letGo(object, false)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(asked.empty(object)).rejects.toMatchObject({ code: 'Conflict' });
  });

  it('throws Conflict if it was changed or deleted since it was read', async () => {
    for (const refusal of [answer('Conflict', 409, 'stale'), answer('NotFound', 404, 'gone')]) {
      await expect(writer(refusal).write(object, WITH_VNC, [])).rejects.toMatchObject({ code: 'Conflict' });
      await expect(writer(refusal).letGo(object, false)).rejects.toMatchObject({ code: 'Conflict' });
    }
  });

  it.each<[KubeErrorCode, number]>([
    ['Forbidden', 403],
    ['Invalid', 422],
    ['Rejected', 400],
  ])('does not keep its object if a retry would bring the same answer: %s', async (code, status) => {
    await writer(answer(code, status, 'no')).letGo(object, false);
  });

  it.each<[KubeErrorCode, number | undefined]>([
    ['Forbidden', 401],
    ['Unreachable', undefined],
    ['ServerError', 500],
    ['TooManyRequests', 429],
    ['BadResponse', 200],
  ])('is retried before its object is released, after the answer %s %s', async (code, status) => {
    await expect(writer(new KubeError(code, 'no', { status })).letGo(object, false)).rejects.toMatchObject({ code });
  });

  it('is no longer written once its object is being deleted', async () => {
    const deleting = webWith(HELD, { deleting: true, spec: { connectionSecretName: 'web-connection' } });
    expect(await writer(new KubeError('Forbidden', 'asked')).write(deleting, WITH_VNC, [])).toBeUndefined();
  });
});
