/** The Go programs of the tests, and a function that builds them in advance. */
import { join } from 'node:path';
import { goProgram, type GoProgram } from './go-program.ts';

const GO = join(import.meta.dirname, '../test/go');

/** What `npm run test:third-party` needs. */
export const GO_PROGRAMS = {
  /** Argo CD's interpreter, Flux's CEL and kstatus. */
  gitops: { module: join(GO, 'gitops'), package: '.' },
  /** Prometheus' rules and expressions. */
  rules: { module: join(GO, 'rules'), package: '.' },
  /** Helm, and what tests and documents the chart. */
  helm: { module: join(GO, 'chart'), package: 'helm.sh/helm/v4/cmd/helm' },
  helm3: { module: join(GO, 'helm-3'), package: 'helm.sh/helm/v3/cmd/helm' },
  helmUnittest: { module: join(GO, 'chart'), package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest' },
  helmDocs: { module: join(GO, 'chart'), package: 'github.com/norwoodj/helm-docs/cmd/helm-docs' },
  kubeScore: { module: join(GO, 'lint'), package: 'github.com/zegl/kube-score/cmd/kube-score' },
  actionlint: { module: join(GO, 'lint'), package: 'github.com/rhysd/actionlint/cmd/actionlint' },
  kubeconform: { module: join(GO, 'lint'), package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
} as const;

/** What only `npm run test:gitops` needs: complete third-party tools, which take many minutes to build. */
export const GITOPS_PROGRAMS = {
  externalDns: { module: join(GO, 'external-dns'), package: 'sigs.k8s.io/external-dns' },
  fluxSource: { module: join(GO, 'flux-source'), package: 'github.com/fluxcd/source-controller' },
  /** Every program of Argo CD: `$ARGOCD_BINARY_NAME` says which it is. */
  argoCd: { module: join(GO, 'argo-cd'), package: 'github.com/argoproj/argo-cd/v3/cmd' },
  fluxKustomize: { module: join(GO, 'flux-kustomize'), package: 'github.com/fluxcd/kustomize-controller' },
} as const;

/**
 * Builds one program after the other before any test runs, because a build during the tests would slow them for
 * minutes. The test that needs a program reports why its build failed.
 */
export async function buildGoPrograms(programs: Record<string, GoProgram>): Promise<void> {
  for (const program of Object.values(programs)) await goProgram(program).catch(() => undefined);
}
