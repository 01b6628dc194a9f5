import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { FINALIZER, SERVER_KIND, PAUSED_ANNOTATION, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { realTimers } from '../../../src/base/timers.ts';
import { eventOf } from '../../../src/controller/conditions.ts';
import { EventRecorder } from '../../../src/controller/event-recorder.ts';
import { createKube, type Kube } from '../../../src/virtual-server/kube.ts';
import { createClient } from '../../../src/kube/client.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { answerStatus, startProxy, type FaultProxy } from './proxy.ts';
import { adminHttp, create, createNamespace, edit, manifest, remove, versionOf } from './support.ts';

let http: KubeHttp;
let proxy: FaultProxy;
let kube: Kube;
let namespace: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
});
afterAll(() => http.close());

beforeEach(async () => {
  proxy = await startProxy(loadCluster(inject('operatorKubeconfigPath')));
  kube = kubeWith({ cluster: proxy.cluster, timeoutMs: 10_000 });
});
afterEach(async () => {
  await proxy.close();
});

/** Closes its connections when the test ends. */
function kubeWith(options: Parameters<typeof createKubeHttp>[0]): Kube {
  const http = createKubeHttp(options);
  onTestFinished(() => http.close());
  return createKube(http);
}

let count = 0;
const createOne = () => create(http, namespace, manifest(`server-${(count += 1)}`));

describe('getDefinition', () => {
  const definition = { metadata: { name: 'virtualservers.vps-operator.dev' } };
  const deletionTimestamp = '2026-01-01T00:00:00Z';

  it('reports that the CRD exists and is not being deleted, without reading its schema', async () => {
    const answers: string[] = [];
    proxy.intercept = (request) => {
      answers.push(request.headers.accept ?? '');
      return false;
    };
    expect(await kube.getDefinition()).toBe('kept');
    expect(answers).toEqual([expect.stringContaining('PartialObjectMetadata')]);
  });

  it.each([
    { annotations: undefined, state: 'deleting' },
    { annotations: { 'vps-operator.dev/allow-deletion': 'false' }, state: 'deleting' },
    { annotations: { 'vps-operator.dev/allow-deletion': 'true' }, state: 'deletionAllowed' },
  ])('reports whether a deletion is allowed: $state', async ({ annotations, state }) => {
    proxy.intercept = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ metadata: { ...definition.metadata, deletionTimestamp, annotations } }));
      return true;
    };
    expect(await kube.getDefinition()).toBe(state);
  });

  it('reports that the CRD of sets is missing, but only for an answer about this CRD', async () => {
    expect(await kube.getSetDefinition()).toBe('kept');
    const about = (name: string): void => {
      proxy.intercept = (_, response) => {
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ kind: 'Status', reason: 'NotFound', code: 404, details: { name } }));
        return true;
      };
    };
    about('virtualserversets.vps-operator.dev');
    expect(await kube.getSetDefinition()).toBe('missing');
    about('another');
    await expect(kube.getSetDefinition()).rejects.toMatchObject({ code: 'NotFound' });
  });

  it.each(['{}', '{"metadata":{"name":"another"}}'])('rejects any other answer: %s', async (body) => {
    proxy.intercept = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(body);
      return true;
    };
    await expect(kube.getDefinition()).rejects.toMatchObject({ code: 'BadResponse' });
  });
});

describe('getVirtualServer', () => {
  it('reads the newest version, without what the operator does not use', async () => {
    const object = await createOne();
    const annotations = { [PAUSED_ANNOTATION]: 'true', other: 'x' };
    await edit(http, object, { metadata: { labels: { a: 'b' }, annotations } });
    const read = await kube.getVirtualServer(namespace, object.metadata.name);
    expect(read?.metadata.uid).toBe(object.metadata.uid);
    expect(read?.metadata.annotations).toEqual({ [PAUSED_ANNOTATION]: 'true' });
    expect(read?.metadata).not.toHaveProperty('labels');
    expect(read?.metadata).not.toHaveProperty('managedFields');
    expect(object.metadata).toHaveProperty('managedFields');
  });

  it('returns undefined for an object that does not exist', async () => {
    expect(await kube.getVirtualServer(namespace, 'absent')).toBeUndefined();
  });

  it('does not treat a 404 that is not about the object as its absence', async () => {
    proxy.intercept = (_, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('404 page not found');
      return true;
    };
    const expected = { code: 'NotFound', status: 404, message: '404 page not found' };
    await expect(kube.getVirtualServer(namespace, 'absent')).rejects.toMatchObject(expected);
    await expect(kube.getSecret(namespace, 'absent')).rejects.toMatchObject(expected);
  });
});

describe('patchMetadata', () => {
  it('writes finalizers and annotations in one request and returns the new object', async () => {
    const object = await createOne();
    const changes = { finalizers: [FINALIZER], annotations: { [RECORD_ANNOTATION]: '{}' } };
    const claimed = await kube.patchMetadata(versionOf(object), changes);
    expect(claimed.metadata).toMatchObject(changes);
    expect(claimed.metadata).not.toHaveProperty('managedFields');
    expect(proxy.requests).toHaveLength(1);
    const change = { finalizers: [], annotations: { [RECORD_ANNOTATION]: null } };
    const released = await kube.patchMetadata(versionOf(claimed), change);
    expect(released.metadata.finalizers).toBeUndefined();
    expect(released.metadata.annotations).toBeUndefined();
  });

  it('keeps annotations, labels and owner references of other clients, which it does not read', async () => {
    const object = await createOne();
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'a-uid' };
    const theirs = { annotations: { other: 'x' }, labels: { a: 'b' }, ownerReferences: [owner] };
    await edit(http, object, { metadata: theirs });
    const read = await kube.getVirtualServer(namespace, object.metadata.name);
    const changes = { finalizers: [FINALIZER], annotations: { [RECORD_ANNOTATION]: '{}' } };
    const claimed = await kube.patchMetadata(versionOf(read ?? object), changes);
    const told = await kube.writeStatus(versionOf(claimed), { observedGeneration: 1 });
    await kube.patchMetadata(versionOf(told), { finalizers: [], annotations: { [RECORD_ANNOTATION]: null } });
    const path = pathOf(VIRTUAL_SERVERS, namespace, object.metadata.name);
    expect(await http.call({ path })).toMatchObject({ metadata: theirs, status: { observedGeneration: 1 } });
  });

  it('keeps finalizers of other clients when it is given none', async () => {
    const object = await createOne();
    const theirs = await edit(http, object, { metadata: { finalizers: ['example.org/theirs'] } });
    const written = await kube.patchMetadata(versionOf(theirs), { annotations: { a: 'b' } });
    expect(written.metadata.finalizers).toEqual(['example.org/theirs']);
    await edit(http, object, { metadata: { finalizers: null } });
  });

  it('fails with Conflict on a stale version and changes nothing', async () => {
    const object = await createOne();
    await edit(http, object, { metadata: { labels: { a: 'b' } } });
    const patch = kube.patchMetadata(versionOf(object), { annotations: { [RECORD_ANNOTATION]: '{}' } });
    await expect(patch).rejects.toMatchObject({ name: 'KubeError', code: 'Conflict', status: 409, reason: 'Conflict' });
    expect((await kube.getVirtualServer(namespace, object.metadata.name))?.metadata.annotations).toBeUndefined();
  });

  it('fails with Invalid on a wrong uid', async () => {
    const object = await createOne();
    const patch = kube.patchMetadata({ ...versionOf(object), uid: 'another' }, { annotations: { a: 'b' } });
    await expect(patch).rejects.toMatchObject({ code: 'Invalid', status: 422 });
  });

  it('never changes an object that was recreated under the same name', async () => {
    const object = await createOne();
    await remove(http, object);
    await create(http, namespace, manifest(object.metadata.name));
    await expect(kube.patchMetadata(versionOf(object), { annotations: { a: 'b' } })).rejects.toMatchObject({
      code: 'Conflict',
    });
  });

  it('fails with NotFound on an object that is gone', async () => {
    const object = await createOne();
    await remove(http, object);
    await expect(kube.patchMetadata(versionOf(object), {})).rejects.toMatchObject({ code: 'NotFound', status: 404 });
  });
});

describe('writeStatus', () => {
  const full: VirtualServerStatus = {
    observedGeneration: 1,
    ipv6: ['2001:db8::1', '2001:db8::2'],
    zone: { name: 'Amsterdam', code: 'ams' },
    task: { id: 1, percent: 5 },
    record: { owner: 'uid', mode: 'create', attempt: 'a1', orphans: [{ task: 3 }] },
  };

  it('replaces the whole status, which also removes fields', async () => {
    const object = await createOne();
    const first = await kube.writeStatus(versionOf(object), full);
    expect(first.status).toEqual(full);
    const less = {
      observedGeneration: 1,
      ipv6: ['2001:db8::2'],
      zone: { code: 'ams' },
      record: { owner: 'uid', mode: 'adopt' as const },
    };
    const second = await kube.writeStatus(versionOf(first), less);
    expect(second.status).toEqual(less);
    expect((await kube.getVirtualServer(namespace, object.metadata.name))?.status).toEqual(less);
  });

  it('changes neither spec nor metadata, and does not raise the generation', async () => {
    const object = await createOne();
    const written = await kube.writeStatus(versionOf(object), full);
    expect(written.spec).toEqual(object.spec);
    expect(written.metadata.generation).toBe(1);
  });

  it('fails with Conflict on a stale version, and on an object that was recreated under the same name', async () => {
    const object = await createOne();
    await kube.writeStatus(versionOf(object), full);
    await expect(kube.writeStatus(versionOf(object), {})).rejects.toMatchObject({ code: 'Conflict' });
    const newest = await kube.getVirtualServer(namespace, object.metadata.name);
    await remove(http, object);
    const recreated = await create(http, namespace, manifest(object.metadata.name));
    const version = versionOf(newest ?? object);
    await expect(kube.writeStatus(version, {})).rejects.toMatchObject({ code: 'Conflict' });
    expect((await kube.getVirtualServer(namespace, object.metadata.name))?.status).toEqual(recreated.status);
  });

  it('fails with Invalid on a status that exceeds its bounds', async () => {
    const object = await createOne();
    const write = kube.writeStatus(versionOf(object), { ssh: 'x'.repeat(301) });
    await expect(write).rejects.toMatchObject({
      code: 'Invalid',
      message: expect.stringContaining('status.ssh') as string,
    });
  });
});

describe('delete', () => {
  it('deletes exactly the version that was read', async () => {
    const servers = createClient(http, VIRTUAL_SERVERS);
    const object = await createOne();
    const newest = await kube.writeStatus(versionOf(object), { observedGeneration: 1 });
    await expect(servers.delete(versionOf(object))).rejects.toMatchObject({ code: 'Conflict' });
    expect(await kube.getVirtualServer(namespace, object.metadata.name)).toBeDefined();
    await servers.delete(versionOf(newest));
    expect(await kube.getVirtualServer(namespace, object.metadata.name)).toBeUndefined();
  });
});

describe('getSecret', () => {
  it('decodes the values, and returns undefined for a Secret that does not exist', async () => {
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key' },
      stringData: { keyId: 'k', secret: 'sü' },
    };
    await http.call({ method: 'POST', path: `/api/v1/namespaces/${namespace}/secrets`, body });
    expect(await kube.getSecret(namespace, 'key')).toEqual({
      type: 'Opaque',
      uid: expect.any(String) as string,
      data: { keyId: 'k', secret: 'sü' },
      resourceVersion: expect.stringMatching(/^\d+$/) as string,
    });
    expect(await kube.getSecret(namespace, 'absent')).toBeUndefined();
    expect(proxy.requests.every((line) => line.startsWith(`GET /api/v1/namespaces/${namespace}/secrets/`))).toBe(true);
  });

  it('fails with Forbidden without the required rights', async () => {
    const cluster = loadCluster(inject('kubeconfigPath'));
    const { tls } = await cluster.credentials();
    const credentials = () => Promise.resolve({ tls, headers: { 'impersonate-user': 'jane' } });
    const powerless = kubeWith({ cluster: { ...cluster, credentials } });
    await expect(powerless.getSecret(namespace, 'absent')).rejects.toMatchObject({ code: 'Forbidden', status: 403 });
  });

  it('keeps an unreadable answer out of the error', async () => {
    proxy.intercept = (_, response) => {
      response.end('{"data":{"secret":"aHVzaA==');
      return true;
    };
    const error: unknown = await kube.getSecret(namespace, 'key').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'BadResponse', message: 'the answer is not JSON' });
    expect(inspect(error, { depth: null })).not.toContain('aHVzaA==');
  });
});

describe('the recorder of Events', () => {
  it('creates an Event on the object, which kubectl shows, with a note that the API server accepts', async () => {
    const object = await createOne();
    const recorder = new EventRecorder(kube.events, realTimers, createLogger({ level: 'silent' }));
    const message = 'ü'.repeat(1000);
    recorder.record(SERVER_KIND, object, 'CreateServer', [eventOf({ reason: 'CreateRejected', message })]);
    await recorder.flush();
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const { items } = (await http.call({ path })) as { items: { regarding: { uid: string } }[] };
    const events = items.filter(({ regarding }) => regarding.uid === object.metadata.uid);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      reportingController: 'vps-operator.dev/operator',
      type: 'Warning',
      reason: 'CreateRejected',
      action: 'CreateServer',
      note: expect.stringMatching(/^ü{400,512}\.\.\./) as string,
      regarding: { kind: 'VirtualServer', name: object.metadata.name },
    });
  });
});

describe('every call', () => {
  it('shares at most eight connections with all others', async () => {
    const object = await createOne();
    const reads = Array.from({ length: 50 }, () => kube.getVirtualServer(namespace, object.metadata.name));
    expect((await Promise.all(reads)).every((read) => read?.metadata.uid === object.metadata.uid)).toBe(true);
    expect(proxy.connections.total).toBeLessThanOrEqual(8);
  });

  it('leaves its connection open after a DELETE with a body', async () => {
    const http = createKubeHttp({ cluster: proxy.cluster, timeoutMs: 10_000 });
    onTestFinished(() => http.close());
    for (let n = 0; n < 3; n += 1) {
      const { name, uid } = (await createOne()).metadata;
      const path = `/apis/vps-operator.dev/v1alpha1/namespaces/${namespace}/virtualservers/${name}`;
      await http.call({ method: 'DELETE', path, body: { preconditions: { uid } } });
    }
    expect(proxy.connections.total).toBe(1);
  });

  it('ends at its deadline if no answer comes', async () => {
    const impatient = kubeWith({ cluster: proxy.cluster, timeoutMs: 200 });
    proxy.silent = true;
    await expect(impatient.getVirtualServer(namespace, 'x')).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('no answer within 200 ms') as string,
    });
  });

  it('ends at its deadline if an answer starts but does not end', async () => {
    const impatient = kubeWith({ cluster: proxy.cluster, timeoutMs: 200 });
    proxy.intercept = (_, response) => response.write('{');
    await expect(impatient.getVirtualServer(namespace, 'x')).rejects.toMatchObject({ code: 'Unreachable' });
  });

  it('fails with Unreachable when the connection breaks, and works again afterwards', async () => {
    const object = await createOne();
    proxy.refusing = true;
    await expect(kube.getVirtualServer(namespace, 'x')).rejects.toMatchObject({ code: 'Unreachable' });
    proxy.refusing = false;
    expect(await kube.getVirtualServer(namespace, object.metadata.name)).toBeDefined();
  });

  it.each([
    [400, 'Rejected'],
    [403, 'Forbidden'],
    [410, 'Expired'],
    [500, 'ServerError'],
    [503, 'ServerError'],
    [301, 'BadResponse'],
  ])('maps HTTP status %i to %s', async (status, code) => {
    proxy.intercept = (_, response) => answerStatus(response, status);
    await expect(kube.getVirtualServer(namespace, 'x')).rejects.toMatchObject({
      code,
      status,
      message: `injected ${status}`,
    });
  });

  it('reports how long the API server asked to wait', async () => {
    proxy.intercept = (_, response) => answerStatus(response, 429, { 'retry-after': '7' });
    await expect(kube.getVirtualServer(namespace, 'x')).rejects.toMatchObject({
      code: 'TooManyRequests',
      retryAfterMs: 7000,
    });
  });

  it('is repeated once with newly read credentials after a 401', async () => {
    const object = await createOne();
    let refusals = 0;
    proxy.intercept = (_, response) => refusals < 1 && (refusals += 1) > 0 && answerStatus(response, 401);
    expect(await kube.getVirtualServer(namespace, object.metadata.name)).toBeDefined();
    proxy.intercept = (_, response) => answerStatus(response, 401);
    await expect(kube.getVirtualServer(namespace, object.metadata.name)).rejects.toMatchObject({
      code: 'Forbidden',
      status: 401,
    });
    expect(proxy.requests).toHaveLength(4);
  });
});
