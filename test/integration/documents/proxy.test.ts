/** The manifests in docs/how-to/proxy.md, built by kubectl. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { blocksOf, createShell } from '../support/document.ts';

interface Manifest {
  kind: string;
  spec: {
    template: {
      spec: {
        containers: { env?: object[]; volumeMounts: object[] }[];
        volumes: object[];
      };
    };
    egress: { ports: object[] }[];
  };
}

/** The objects that the yaml block below this heading builds. */
async function built(heading: string): Promise<(kind: string) => Manifest['spec']> {
  const text = await readFile(join(import.meta.dirname, '../../../docs/how-to/proxy.md'), 'utf8');
  const shell = await createShell({
    kubeconfigPath: inject('kubeconfigPath'),
    kubectl: inject('kubectl'),
    namespace: 'default',
  });
  for (const block of blocksOf(text, heading).filter(({ language }) => language === 'yaml')) await shell.run(block);
  const yaml = await shell.run({ language: 'sh', text: 'kubectl kustomize .' });
  const manifests = parseAllDocuments(yaml).map((document) => document.toJS() as Manifest);
  return (kind) => {
    const found = manifests.find((manifest) => manifest.kind === kind);
    if (found === undefined) throw new Error(`there is no ${kind}`);
    return found.spec;
  };
}

it('the page gives the operator a proxy from a Secret, and opens its port', async () => {
  const spec = await built('Set the proxy');
  const [container] = spec('Deployment').template.spec.containers;
  const secretKeyRef = { name: 'vps-operator-proxy', key: 'HTTPS_PROXY' };
  expect(container?.env).toEqual([{ name: 'HTTPS_PROXY', valueFrom: { secretKeyRef } }]);
  const ports = spec('NetworkPolicy').egress.flatMap((rule) => rule.ports);
  expect(ports).toContainEqual({ port: 3128, protocol: 'TCP' });
  expect(ports).toContainEqual({ port: 443, protocol: 'TCP' });
});

it('the page mounts the CA where VPS_PROVIDER_CA_FILE looks for it, beside the settings', async () => {
  const spec = await built('Trust a private CA');
  const { containers, volumes } = spec('Deployment').template.spec;
  expect(containers[0]?.volumeMounts).toContainEqual({ name: 'ca', mountPath: '/etc/vps-operator-ca', readOnly: true });
  expect(volumes).toContainEqual({ name: 'ca', configMap: { name: 'vps-operator-ca' } });
  expect(volumes).toContainEqual(expect.objectContaining({ name: 'settings' }));
});
