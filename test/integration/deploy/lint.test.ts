/** kube-score over the manifests as users apply them, with all its checks: nothing is found that is not argued away. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { goProgram } from '../../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../../tools/go-programs.ts';
import { kustomize } from '../../../tools/manifests.ts';

interface Scored {
  object_meta: { name: string };
  checks: { check: { id: string }; grade: number; skipped: boolean }[];
}
interface Exception {
  check: string;
  objects: string[];
  reason: string;
}

/** Of kube-score: what is below has a comment of at least a warning. */
const FINE = 10;
const BUILD_MS = 900_000;
/** Each a folder, and components that are put on it. */
const OVERLAYS = [
  ['base', 'components/connection-secrets', 'components/ssh-check'],
  ['overlays/namespaced', 'components/connection-secrets/namespaced'],
  ['overlays/demo'],
];

let kubeScore: string;
beforeAll(async () => {
  kubeScore = await goProgram(GO_PROGRAMS.kubeScore);
}, BUILD_MS);

/** `<check> <object>` of all that kube-score has to say of these manifests. */
async function findings(yaml: string): Promise<string[]> {
  const args = ['score', '--all-default-optional', '--output-format=json', '--kubernetes-version=v1.36', '-'];
  const text = await new Promise<string>((resolve, reject) => {
    // It ends with 1 when it finds something; only without an answer has it failed.
    const child = execFile(kubeScore, args, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`kube-score said nothing: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
    child.stdin?.end(yaml);
  });
  const scored = JSON.parse(text) as Scored[];
  return scored.flatMap(({ object_meta, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < FINE)
      .map(({ check }) => `${check.id} ${object_meta.name}`),
  );
}

it('finds nothing in the manifests but the exceptions, and all of these', async () => {
  const exceptions = parse(await readFile(join(import.meta.dirname, 'lint-exceptions.yaml'), 'utf8')) as Exception[];
  const built = OVERLAYS.map(async (names) => {
    const [folder = '', ...components] = names.map((name) => `deploy/manifests/${name}`);
    return findings(await kustomize(inject('kubectl'), folder, ...components));
  });
  const found = new Set((await Promise.all(built)).flat());
  const argued = exceptions.flatMap(({ check, objects }) => objects.map((object) => `${check} ${object}`));
  expect([...found].sort()).toEqual(argued.sort());
  expect(exceptions.filter(({ reason }) => reason.length < 20)).toEqual([]);
});

it('finds what is wrong', async () => {
  const base = await kustomize(inject('kubectl'), 'deploy/manifests/base');
  const found = await findings(base.replace('readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false'));
  expect(found).toContain('container-security-context-readonlyrootfilesystem vps-operator');
});
