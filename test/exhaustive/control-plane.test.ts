import { execFile } from 'node:child_process';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../tools/control-plane/control-plane.ts';

const run = promisify(execFile);

/** Standard output of kubectl; rejects with its standard error. */
async function kubectl(at: { kubectl: string; kubeconfigPath: string }, ...args: string[]): Promise<string> {
  const { stdout } = await run(at.kubectl, ['--kubeconfig', at.kubeconfigPath, ...args]);
  return stdout.trim();
}

/** The error code of this promise or of the error's cause. */
async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  const error: unknown = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  return (cause as NodeJS.ErrnoException | undefined)?.code;
}

describe('the control plane that integration tests share', () => {
  const shared = { kubectl: inject('kubectl'), kubeconfigPath: inject('kubeconfigPath') };

  it('has the version that go.mod pins', async () => {
    const goMod = await readFile(new URL('../../tools/control-plane/go.mod', import.meta.url), 'utf8');
    const pinned = /k8s\.io\/kubernetes v(\d+\.\d+)\./.exec(goMod)?.[1];
    const { serverVersion } = JSON.parse(await kubectl(shared, 'version', '--output=json')) as {
      serverVersion: { gitVersion: string };
    };
    expect(serverVersion.gitVersion).toMatch(`v${pinned ?? '?'}.`);
  });

  it('has the audit line of a request once its answer arrives', async () => {
    await kubectl(shared, 'create', 'namespace', 'audited');
    await kubectl(
      shared,
      'create',
      'secret',
      'generic',
      'key',
      '--namespace=audited',
      '--from-literal=secret=hush-hush',
    );
    const log = await readFile(inject('auditLog'), 'utf8');
    const lines = log.split('\n').filter((line) => line.includes('"namespace":"audited"'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      verb: 'create',
      level: 'Metadata',
      objectRef: { resource: 'secrets', name: 'key' },
    });
    expect(log).not.toContain(Buffer.from('hush-hush').toString('base64'));
  });
});

describe('a separate control plane', () => {
  let crds: string;
  let controlPlane: ControlPlane;

  beforeAll(async () => {
    crds = await mkdtemp(join(tmpdir(), 'vps-operator-crds-'));
    await writeFile(join(crds, 'gadgets.yaml'), GADGET_CRD);
    controlPlane = await startControlPlane({ crds, controllerManager: true });
  });
  afterAll(async () => {
    await controlPlane.stop();
    await rm(crds, { recursive: true });
  });

  it('serves the CRDs of the folder with their rules intact', async () => {
    const name = 'gadgets.test.vps-operator.dev';
    const path = 'jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule}';
    expect(await kubectl(controlPlane, 'get', 'crd', name, `--output=${path}`)).toBe('self.size > 0');
    expect(await kubectl(controlPlane, 'get', 'gadgets', '--all-namespaces', '--output=name')).toBe('');
  });

  it('gives a new user a working identity without rights', async () => {
    const kubeconfigPath = await controlPlane.addUser({ name: 'jane', groups: ['builders'] });
    const jane = { kubectl: controlPlane.kubectl, kubeconfigPath };
    const whoami = JSON.parse(await kubectl(jane, 'auth', 'whoami', '--output=json')) as {
      status: { userInfo: { username: string; groups: string[] } };
    };
    expect(whoami.status.userInfo).toMatchObject({
      username: 'jane',
      groups: expect.arrayContaining(['builders']) as string[],
    });
    await expect(kubectl(jane, 'get', 'secrets')).rejects.toThrow('Forbidden');
  });

  it('keeps port, certificates and data after a SIGKILL of the API server', async () => {
    await kubectl(controlPlane, 'create', 'configmap', 'survivor', '--from-literal=answer=42');
    await controlPlane.killApiServer();
    await expect(kubectl(controlPlane, 'get', 'configmap', 'survivor')).rejects.toThrow('refused');
    await controlPlane.restartApiServer();
    const answer = await kubectl(controlPlane, 'get', 'configmap', 'survivor', '--output=jsonpath={.data.answer}');
    expect(answer).toBe('42');
  });

  it('really deletes a namespace with everything in it', async () => {
    await kubectl(controlPlane, 'create', 'namespace', 'doomed');
    await kubectl(controlPlane, 'create', 'configmap', 'passenger', '--namespace=doomed');
    await kubectl(controlPlane, 'delete', 'namespace', 'doomed', '--wait=true', '--timeout=50s');
    await expect(kubectl(controlPlane, 'get', 'configmap', 'passenger', '--namespace=doomed')).rejects.toThrow(
      'NotFound',
    );
  });
});

describe('a process that runs a control plane', () => {
  const main = new URL('../../tools/control-plane/main.ts', import.meta.url).pathname;

  it.for(['SIGTERM', 'SIGKILL'] as const)('leaves no process and no folder behind after %s', async (signal) => {
    const child = execFile(process.execPath, [main]);
    const line = await new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))));
    const { kubeconfig } = JSON.parse(line) as { kubeconfig: string };
    const server = /server: (\S+)/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    expect(await ended).toBe(signal === 'SIGTERM' ? 0 : null);
    await expect.poll(() => codeOf(access(kubeconfig))).toBe('ENOENT');
    await expect.poll(() => codeOf(fetch(`${server}/livez`))).toBe('ECONNREFUSED');
  });
});

const GADGET_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.test.vps-operator.dev
spec:
  group: test.vps-operator.dev
  names: { kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { size: { type: integer } }
              x-kubernetes-validations: [{ rule: self.size > 0 }]
`;
