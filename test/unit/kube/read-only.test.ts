import { expect, it } from 'vitest';
import { API_VERSION } from '../../../src/api/names.ts';
import type { CallOptions, KubeHttp } from '../../../src/kube/http.ts';
import { readOnlyKube } from '../../../src/kube/read-only.ts';

const sent: CallOptions[] = [];
const http = { call: (options: CallOptions) => Promise.resolve(sent.push(options)) } as Partial<KubeHttp> as KubeHttp;
const server = `/apis/${API_VERSION}/namespaces/default/virtualservers/web`;

it.each([
  { path: server },
  { method: 'PUT', path: `${server}/status` },
  { method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/default/events' },
  { method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews' },
  { method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews' },
] as CallOptions[])('lets through $method $path', async (options) => {
  await readOnlyKube(http).call(options);
  expect(sent.at(-1)).toBe(options);
});

it.each([
  { method: 'PUT', path: server },
  { method: 'PATCH', path: server },
  { method: 'PATCH', path: `${server}/status` },
  { method: 'DELETE', path: server },
  // An object with this name has no other path for its status.
  { method: 'PUT', path: `/apis/${API_VERSION}/namespaces/default/virtualservers/status` },
  { method: 'POST', path: `/apis/${API_VERSION}/namespaces/default/virtualservers` },
  { method: 'POST', path: '/api/v1/namespaces/default/secrets' },
  { method: 'PUT', path: '/apis/apps/v1/namespaces/default/deployments/web/status' },
  { method: 'PUT', path: '/apis/coordination.k8s.io/v1/namespaces/vps/leases/vps-operator' },
] as CallOptions[])('sends no $method $path', async (options) => {
  const before = sent.length;
  await expect(readOnlyKube(http).call(options)).rejects.toThrow('--observe-only');
  expect(sent).toHaveLength(before);
});
