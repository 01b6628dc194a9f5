/** The Go programs of the tests, and a function that builds all of them in advance. */
import { join } from 'node:path';
import { goProgram } from './go-program.ts';

const GO = join(import.meta.dirname, '../test/go');

export const GO_PROGRAMS = {
  /** Argo CD's interpreter, Flux's CEL and kstatus. */
  gitops: { module: join(GO, 'gitops'), package: '.' },
  /** Prometheus' rules and expressions. */
  rules: { module: join(GO, 'rules'), package: '.' },
  /** Helm, and what tests and documents the chart. */
  helm: { module: join(GO, 'chart'), package: 'helm.sh/helm/v4/cmd/helm' },
  helmUnittest: { module: join(GO, 'chart'), package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest' },
  helmDocs: { module: join(GO, 'chart'), package: 'github.com/norwoodj/helm-docs/cmd/helm-docs' },
  kubeScore: { module: join(GO, 'lint'), package: 'github.com/zegl/kube-score/cmd/kube-score' },
  kubeconform: { module: join(GO, 'lint'), package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
} as const;

/**
 * Builds one program after the other before any test runs, because a build during the tests would slow them for
 * minutes. The test that needs a program reports why its build failed.
 */
export async function buildGoPrograms(): Promise<void> {
  for (const program of Object.values(GO_PROGRAMS)) await goProgram(program).catch(() => undefined);
}
