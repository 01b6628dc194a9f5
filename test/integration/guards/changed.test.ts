/**
 * Changes to the guards themselves, on a separate cluster: for an operator with another identity, and deletion of the
 * CRD.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONNECTION_SECRET_TYPE } from '../../../src/api/names.ts';
import { patch, statusPatch, useGuards } from '../support/guarded-objects.ts';
import { ADMISSION, kustomized, refusal, succeed, type Kubectl } from '../support/guards.ts';

const { guarded, objects } = useGuards({ own: true });

const ROOT = join(import.meta.dirname, '../../..');
const POLICY = join(ROOT, 'deploy/manifests/components/connection-secrets/namespaced/admission.yaml');
const DOCUMENT = await readFile(join(ROOT, 'docs/reference/guards.md'), 'utf8');

describe('an operator with another identity', () => {
  it('works when the policy is patched as documented', async () => {
    await objects.claimed('elsewhere');
    const another: Kubectl = (args, input) =>
      guarded.root(['--as=system:serviceaccount:elsewhere:vps-operator', '--as-group=system:masters', ...args], input);
    const write = (value: string) => statusPatch('elsewhere', { status: { name: value } });
    expect(await refusal(another, write('a'))).toContain('only the operator may write status');
    await guarded.apply(await patched(/^apiVersion: kustomize.config.k8s.io.*?(?=^```)/ms));
    await guarded.until(another, write('b'), ({ ok }) => ok);
    expect(await refusal(another, patch('elsewhere', { spec: { deletionProtection: true } }))).toContain('spec');
    const remove = ['delete', 'vps', 'elsewhere', '--dry-run=server'];
    await guarded.until(another, remove, ({ text }) => text.includes('the operator may delete no VirtualServer but'));
    await succeed(guarded.operator, remove);
    expect(await refusal(guarded.operator, write('c'))).toContain('only the operator may write status');
    // The leftover finalizer would block the CRD's deletion.
    await succeed(guarded.breakGlass, patch('elsewhere', { metadata: { finalizers: null } }));
  });
});

it('may write only connection Secrets when the policy is patched as documented', async () => {
  const [block = ''] = /^- target:\n.*connection-secrets\n.*?(?=^```)/ms.exec(DOCUMENT) ?? [];
  const identity = '--as=system:serviceaccount:elsewhere:vps-operator';
  const another: Kubectl = (args, input) => guarded.root([identity, '--as-group=system:masters', ...args], input);
  const create = ['create', 'secret', 'generic', 'elsewhere', '--dry-run=server'];
  await succeed(guarded.root, ['apply', '--server-side', `--filename=${POLICY}`]);
  const { operator } = guarded;
  await guarded.until(operator, create, ({ text }) => text.includes('denied request'));
  await succeed(another, create);
  await guarded.apply(await kustomized(guarded, POLICY, `resources: [admission.yaml]\npatches:\n${block}`));
  await guarded.until(another, create, ({ text }) =>
    text.includes(`the operator may write no Secret but those of type ${CONNECTION_SECRET_TYPE}`),
  );
  await succeed(operator, create);
});

it('lets administrators delete other CRDs', async () => {
  await guarded.apply(OTHER_CRD);
  await succeed(guarded.admin, ['delete', 'crd', 'gadgets.test.example.org']);
  await succeed(guarded.admin, ['delete', 'crd', 'servercatalogs.vps-operator.dev']);
});

// Must run last: they delete the CRDs.
describe.each([
  ['virtualserversets.vps-operator.dev', 'every VirtualServerSet of the cluster, and so every member of them'],
  ['virtualservers.vps-operator.dev', 'every VirtualServer of the cluster, also those with'],
])('the CRD %s', (crd, loss) => {
  const annotate = (value: string): string[] => [
    'annotate',
    '--overwrite',
    'crd',
    crd,
    `vps-operator.dev/allow-deletion=${value}`,
  ];

  it('survives a deletion, by name or with all others', async () => {
    await succeed(guarded.root, annotate('yes'));
    for (const args of [
      ['delete', 'crd', crd],
      ['delete', 'crd', '--all'],
      ['delete', '--raw=/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
    ]) {
      for (const person of [guarded.admin, guarded.root, guarded.breakGlass]) {
        const said = await refusal(person, args);
        expect(said, args.join(' ')).toMatch(
          person === guarded.breakGlass
            ? /is forbidden/
            : new RegExp(`${args.includes(crd) ? loss : 'every VirtualServer'}.* \`kubectl annotate crd virtualserver`),
        );
      }
    }
    expect(await succeed(guarded.root, ['get', 'crd', crd, '--output=jsonpath={.metadata.deletionTimestamp}'])).toBe(
      '',
    );
  });

  it('is deleted when it has the annotation', async () => {
    await succeed(guarded.admin, annotate('true'));
    await succeed(guarded.admin, ['delete', 'crd', crd, '--wait=false']);
    await guarded.until(guarded.root, ['get', 'crd', crd], ({ text }) => text.includes('NotFound'));
  });
});

/** The policies that kustomize builds with the documented kustomization, applied to a folder of manifests. */
async function patched(pattern: RegExp): Promise<string> {
  const [text] = pattern.exec(DOCUMENT) ?? [];
  if (text === undefined) throw new Error(`docs/reference/guards.md has no text ${String(pattern)}`);
  return kustomized(guarded, ADMISSION, text.replace(/^ {2}- .*base.*$/m, '  - admission.yaml'));
}

const OTHER_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.test.example.org }
spec:
  group: test.example.org
  names: { kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;
