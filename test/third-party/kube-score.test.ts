/** kube-score on the manifests as users apply them, with all its checks; every exception has a reason. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';
import { kustomize } from '../../tools/manifests.ts';

interface Scored {
  object_meta: { name: string };
  checks: { check: { id: string }; grade: number; skipped: boolean }[];
}
interface Exception {
  check: string;
  objects: string[];
  reason: string;
}

/** kube-score grade below which a check counts as a finding (a warning or worse). */
const FINE = 10;
const BUILD_MS = 900_000;
/** Each entry is a folder plus the components to add to it. */
const OVERLAYS = [
  ['base', 'components/connection-secrets', 'components/metrics-secure', 'components/ssh-check'],
  ['overlays/namespaced', 'components/connection-secrets/namespaced'],
  ['overlays/demo'],
];

let kubeScore: string;
beforeAll(async () => {
  kubeScore = await goProgram(GO_PROGRAMS.kubeScore);
}, BUILD_MS);

/** `<check> <object>` of every finding of kube-score. */
async function findings(yaml: string): Promise<string[]> {
  const args = ['score', '--all-default-optional', '--output-format=json', '--kubernetes-version=v1.36', '-'];
  const text = await new Promise<string>((resolve, reject) => {
    // kube-score exits with 1 if it finds something; it has failed only if there is no output.
    const child = execFile(kubeScore, args, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`kube-score printed nothing: ${stderr}`, { cause: error }));
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

it('finds exactly the listed exceptions in the manifests', async () => {
  const exceptions = parse(
    await readFile(join(import.meta.dirname, 'kube-score-exceptions.yaml'), 'utf8'),
  ) as Exception[];
  const built = OVERLAYS.map(async (names) => {
    const [folder = '', ...components] = names.map((name) => `deploy/manifests/${name}`);
    return findings(await kustomize(inject('kubectl'), folder, ...components));
  });
  const found = new Set((await Promise.all(built)).flat());
  const argued = exceptions.flatMap(({ check, objects }) => objects.map((object) => `${check} ${object}`));
  expect([...found].sort()).toEqual(argued.sort());
  expect(exceptions.filter(({ reason }) => reason.length < 20)).toEqual([]);
});

it('reports a real problem', async () => {
  const base = await kustomize(inject('kubectl'), 'deploy/manifests/base');
  const found = await findings(base.replace('readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false'));
  expect(found).toContain('container-security-context-readonlyrootfilesystem vps-operator');
});
