/** User data from a Secret: which Secrets are sent, and that nothing but the order has what is in them. */
import { describe, expect, it } from 'vitest';
import { currentReason } from '../../../../src/api/conditions.ts';
import { USER_DATA_SECRET_TYPE } from '../../../../src/api/names.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { KeepsFailing } from '../../../../src/kube/failing-reads.ts';
import type { ConfigMap, ReadSecret } from '../../../../src/kube/kinds.ts';
import { readSecrets, userDataText } from '../../../../src/virtual-server/operations/user-data.ts';
import { requestOf } from '../../../../src/virtual-server/operations/order-named.ts';
import { recordOf } from '../../../fixtures/records.ts';
import { NOW, TIMING, web, webWith } from '../../../fixtures/decision.ts';
import { fakeSession } from '../../../fixtures/doubles.ts';
import { DENIED, visit } from '../../../fixtures/visits.ts';
import { next } from './named-support.ts';

const TEXT = '#cloud-config\r\npassword: correct-horse-battery\n';
const object = web({ spec: { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' } } } });

type Given = Partial<ReadSecret> | KubeError | undefined;
const kubeWith = (secret: Given) => ({
  getConfigMap: () => Promise.reject(new Error('a ConfigMap is read')),
  getSecret: (): Promise<ReadSecret | undefined> =>
    secret instanceof KubeError
      ? Promise.reject(secret)
      : Promise.resolve(
          secret && {
            type: USER_DATA_SECRET_TYPE,
            uid: 'uid',
            data: { 'user-data': TEXT },
            resourceVersion: '1',
            ...secret,
          },
        ),
});
const readFrom = (secret: Given) => readSecrets(object, kubeWith(secret), fakeSession({}));

describe('the user data of a Secret', () => {
  it('is read unchanged', async () => {
    expect(await readFrom({})).toMatchObject({ ok: true, value: { values: { userDataFrom: TEXT }, hashKey: 'uid' } });
  });

  it.each<{ reason: string; secret: Given; words: string }>([
    { reason: 'UserDataNotFound', secret: undefined, words: 'does not exist' },
    { reason: 'UserDataNotFound', secret: { data: {} }, words: 'has no key "user-data"' },
    { reason: 'UserDataNotFound', secret: { data: { 'user-data': '' } }, words: 'has no key "user-data"' },
    { reason: 'UserDataNotFound', secret: { data: { 'user-data': 'a\ufffdb' } }, words: 'is no text in UTF-8' },
    {
      reason: 'UserDataNotFound',
      secret: { data: { 'user-data': 'x'.repeat(32_769) } },
      words: 'has 32769 characters, more than 32768',
    },
    { reason: 'SecretForbidden', secret: new KubeError('Forbidden', 'not allowed'), words: 'cannot be read' },
    {
      reason: 'SecretForbidden',
      secret: new KeepsFailing('ServerError', 'The API server answers 500 since 2026.', { status: 500 }),
      words: 'cannot be read: The API server answers 500',
    },
    { reason: 'InvalidSpec', secret: { type: 'Opaque' }, words: 'only Secrets of the type vps-operator.dev/user-data' },
    { reason: 'InvalidSpec', secret: { type: 'kubernetes.io/tls' }, words: 'is of the type "kubernetes.io/tls"' },
  ])('is not sent: $reason, $words', async ({ reason, secret, words }) => {
    const found = await readFrom(secret);
    expect(found).toMatchObject({ ok: false, error: { reason } });
    expect(found.ok ? '' : found.error.message).toContain(words);
  });

  it('is hidden, and everything is while it cannot be read or is of another type', async () => {
    expect(await userDataText(object, kubeWith({}))).toBe(TEXT);
    expect(await userDataText(object, kubeWith({ type: 'Opaque' }))).toBeUndefined();
    expect(await userDataText(object, kubeWith(undefined))).toBeUndefined();
    expect(await userDataText(object, kubeWith(new KubeError('Unreachable', 'no answer')))).toBeUndefined();
  });
});

describe('the user data of a ConfigMap', () => {
  const from = web({ spec: { userDataFrom: { configMapKeyRef: { name: 'setup', key: 'user-data' } } } });
  const metadata = { namespace: 'default', name: 'setup', uid: 'uid', resourceVersion: '1' };
  const kube = (found: Record<string, string> | KubeError | undefined) => ({
    getSecret: () => Promise.reject(new Error('a Secret is read')),
    getConfigMap: (): Promise<ConfigMap | undefined> =>
      found instanceof KubeError ? Promise.reject(found) : Promise.resolve(found && { metadata, data: found }),
  });

  it('is read unchanged', async () => {
    const found = await readSecrets(from, kube({ 'user-data': TEXT }), fakeSession({}));
    expect(found).toMatchObject({ ok: true, value: { values: { userDataFrom: TEXT }, hashKey: 'uid' } });
    expect(await userDataText(from, kube({ 'user-data': TEXT }))).toBe(TEXT);
  });

  it.each<{ reason: string; found: Record<string, string> | KubeError | undefined; words: string }>([
    {
      reason: 'UserDataNotFound',
      found: undefined,
      words: 'ConfigMap default/setup, named in spec.userDataFrom, does not exist',
    },
    { reason: 'UserDataNotFound', found: {}, words: 'has no key "user-data"' },
    { reason: 'UserDataNotFound', found: { 'user-data': 'x'.repeat(32_769) }, words: 'has 32769 characters' },
    {
      reason: 'UserDataForbidden',
      found: new KubeError('Forbidden', 'not allowed'),
      words: 'component user-data-config-maps (in the Helm chart: userDataConfigMaps.enabled)',
    },
    {
      reason: 'UserDataForbidden',
      found: new KeepsFailing('ServerError', 'The API server answers 500 since 2026.', { status: 500 }),
      words: 'cannot be read: The API server answers 500',
    },
  ])('is not sent: $reason, $words', async ({ reason, found, words }) => {
    const read = await readSecrets(from, kube(found), fakeSession({}));
    expect(read).toMatchObject({ ok: false, error: { reason } });
    expect(read.ok ? '' : read.error.message).toContain(words);
    expect(read.ok ? '' : read.error.message).toContain('ordered nothing');
  });

  it('is sent once the ConfigMap is there, and nothing before', async () => {
    const given = {
      ordersNamed: true,
      answers: { server: DENIED, servers: [], named: { kind: 'created', task: 7 }, task: { state: 'pending' } },
    } as const;
    const early = await visit(from, { ...given, configMaps: {} });
    expect([early.requests, currentReason(early.object?.status?.conditions)]).toEqual([[], 'UserDataNotFound']);
    const later = await visit(early.object ?? from, { ...given, configMaps: { setup: { 'user-data': TEXT } } });
    expect(later.requests.map((body) => body['user_data_string'])).toEqual([TEXT]);
    expect(JSON.stringify([later.object, later.events])).not.toContain('correct-horse');
  });
});

describe('an order with user data of a Secret', () => {
  const answers = {
    server: DENIED,
    servers: [],
    named: { kind: 'created', task: 7 },
    task: { state: 'pending' },
  } as const;
  const order = (text: string) => visit(object, { ordersNamed: true, answers, userData: { setup: text } });

  it('sends it, and keeps a hash that does not reveal it', async () => {
    const { requests, object: after } = await order(TEXT);
    expect(requests.map((body) => body['user_data_string'])).toEqual([TEXT]);
    expect(JSON.stringify(after)).not.toContain('correct-horse');
    const plain = await visit(web({ spec: { userData: TEXT } }), { ordersNamed: true, answers });
    const hashes = [after, plain.object].map((each) => each && recordOf(each)?.sent?.body);
    expect(hashes).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(hashes[0]).not.toBe(hashes[1]);
    const other = await order(`${TEXT}#`);
    expect(other.object && recordOf(other.object)?.sent?.body).not.toBe(hashes[0]);
  });

  it('is not sent without the Secret', async () => {
    const { requests, object: after } = await visit(object, { ordersNamed: true, answers });
    expect([requests, currentReason(after?.status?.conditions)]).toEqual([[], 'UserDataNotFound']);
  });

  it('with a byte order mark is not sent, which the object tells', async () => {
    const { requests, object: after } = await order(`\u{feff}${TEXT}`);
    expect(requests).toEqual([]);
    expect(after && recordOf(after)).toBeUndefined();
    expect(after?.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      reason: 'UserDataNotFound',
      message: expect.stringMatching(
        /^Secret default\/setup, named in spec.userDataFrom, key "user-data" begins with a byte order mark .* ordered nothing/,
      ) as string,
    });
  });

  it('with a byte order mark is sent again unchanged if an earlier version has sent it', async () => {
    const text = `\u{feff}${TEXT}`;
    const userData = { setup: text };
    const lost = {
      kind: 'unclear',
      error: new ProviderError('PROVIDER_TIMEOUT', 'no answer'),
      isAnswered: false,
    } as const;
    const first = await visit(object, {
      ordersNamed: true,
      answers: { ...answers, named: lost },
      userData: { setup: TEXT },
    });
    const record = first.object && recordOf(first.object);
    if (record?.sent === undefined) throw new Error('no order was sent');
    const secrets = {
      values: { sshKeysFrom: [], userDataFrom: text },
      hashKey: 'uid-of-setup',
      session: fakeSession({}),
    };
    const { digest } = requestOf(object, secrets);
    const { sent } = record;
    const open = webWith({ ...record, sent: { ...sent, body: digest } }, { spec: object.spec });
    const seen = await visit(open, { ordersNamed: true, answers, userData, now: NOW + 1 });
    const again = await next(seen, NOW + TIMING.takeoverMs + 1, { answers, userData });
    expect(again.requests).toMatchObject([{ identifier: record.identifier, user_data_string: text }]);
    expect(again.object && recordOf(again.object)).toMatchObject({ attempt: record.attempt, task: 7 });
  });
});
