/** Checks of the cluster: API server, clock, CustomResourceDefinitions and policies. */
import { API_VERSION, CATALOG_PLURAL, GROUP, SERVER_PLURAL, SET_PLURAL } from '../../api/names.ts';
import { DEFINITIONS, ONLY_METADATA } from '../../kube/kinds.ts';
import { collectionOf, pathOf } from '../../kube/resource.ts';
import { fine, unknown, wrong, type CheckFinding } from './checkup.ts';
import { applyDefinitions, type ClusterView } from '../cluster/cluster.ts';
import { CommandError } from '../terminal/failure.ts';
import { duration } from '../screens/progress.ts';
import { compareVersions } from '../cluster/skew.ts';

/** Date headers have whole seconds, and an answer takes time. */
const CLOCK_MS = 5000;
const PLURALS = [SERVER_PLURAL, SET_PLURAL, CATALOG_PLURAL];
const VERSION_LABEL = 'app.kubernetes.io/version';

/** deploy/guards.yaml; a test compares. The last of them belongs to the CRDs. */
export const GUARDS = [
  ...[
    'annotations',
    'api-keys',
    'crd-deletion',
    'deletion-delay',
    'deletion-protection',
    'members',
    'mistakes',
    'protection-lifted',
    'record',
  ],
  'set-deletion-protection',
].map((name) => `vps-operator-${name}`);
const ORDERED_FIELDS = 'vps-operator-ordered-fields';
const ADMISSION = 'admissionregistration.k8s.io/v1';

interface Labelled {
  metadata: { labels?: Record<string, string> };
}

/** Rejects with CommandError if the API server does not answer. */
export async function checkApiServer(cluster: ClusterView, now: () => number): Promise<CheckFinding[]> {
  const { gitVersion = 'of unknown version' } = (await cluster.ask({ path: '/version' })) as { gitVersion?: string };
  const found = fine('API server', `Kubernetes ${gitVersion} answers`);
  const ahead = now() - (cluster.serverTime() ?? Number.NaN);
  if (Number.isNaN(ahead)) return [found, unknown('clock', 'the API server does not send its time')];
  const off = `this computer's clock is ${duration(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the API server's`;
  return [
    found,
    Math.abs(ahead) < CLOCK_MS
      ? fine('clock', "this computer's clock agrees with the API server's")
      : wrong('clock', off, 'set this clock: the plugin compares it with the times in objects'),
  ];
}

/** `operator`: its version, if known. */
export async function checkDefinitions(cluster: ClusterView, operator: string | undefined): Promise<CheckFinding> {
  const { groups = [] } = (await cluster.ask({ path: '/apis' })) as { groups?: { name: string }[] };
  const path = `/apis/${API_VERSION}`;
  const found = groups.some(({ name }) => name === GROUP) ? await cluster.ask({ path }) : {};
  const names = ((found as { resources?: { name: string }[] }).resources ?? []).map(({ name }) => name);
  const missing = PLURALS.filter((plural) => !names.includes(plural));
  if (missing.length > 0) {
    const what = `${missing.join(', ')} of ${API_VERSION} ${missing.length === 1 ? 'is' : 'are'} not installed`;
    return wrong('CRDs', what, applyDefinitions(cluster.where));
  }
  const read = await Promise.all(PLURALS.map((plural) => versionOf(cluster, plural))).catch((error: unknown) => error);
  if (!Array.isArray(read)) {
    if (!(read instanceof CommandError)) throw read;
    return fine('CRDs', 'installed; you may not read their version');
  }
  const versions = new Set(read as Awaited<ReturnType<typeof versionOf>>[]);
  const [version, ...others] = [...versions];
  if (others.length > 0) {
    const all = [...versions].map((each) => each ?? 'none').join(', ');
    return wrong('CRDs', `installed in different versions: ${all}`, 'apply the CRDs of one release again');
  }
  if (version === undefined) return fine('CRDs', 'installed, without a label that tells their version');
  const order = operator === undefined ? undefined : compareVersions(version, operator);
  if (order === undefined || order === 0) return fine('CRDs', `installed, version ${version}`);
  const what = `version ${version}, but the operator is ${operator}: the API server drops or refuses fields that they lack`;
  return wrong('CRDs', what, 'upgrade both to one release: docs/how-to/upgrade.md');
}

async function versionOf(cluster: ClusterView, plural: string): Promise<string | undefined> {
  const path = pathOf(DEFINITIONS, '', `${plural}.${GROUP}`);
  const { metadata } = (await cluster.ask({ path, accept: ONLY_METADATA })) as Labelled;
  return metadata.labels?.[VERSION_LABEL];
}

export async function checkPolicies(cluster: ClusterView): Promise<CheckFinding[]> {
  const list = async (plural: string): Promise<string[]> => {
    const path = collectionOf({ apiVersion: ADMISSION, plural });
    const { items = [] } = (await cluster.ask({ path })) as { items?: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  };
  const [policies, bindings] = await Promise.all([
    list('validatingadmissionpolicies'),
    list('validatingadmissionpolicybindings'),
  ]);
  const isMissing = (name: string): boolean => !policies.includes(name) || !bindings.includes(name);
  const missing = GUARDS.filter(isMissing);
  // They would refuse the writes of an operator that they do not know.
  const apply = `kubectl apply${cluster.where} --server-side -f deploy/guards.yaml   # for an operator as in deploy/install.yaml; others: docs/reference/guards.md`;
  const some = missing.length === GUARDS.length ? 'none is installed' : `not installed: ${missing.join(', ')}`;
  return [
    missing.length === 0 ? fine('guards', `all ${GUARDS.length} policies are installed`) : wrong('guards', some, apply),
    isMissing(ORDERED_FIELDS)
      ? wrong(
          'ordered fields',
          `${ORDERED_FIELDS} is not installed: a change of an ordered field is accepted, and has no effect`,
          applyDefinitions(cluster.where),
        )
      : fine('ordered fields', 'the policy is installed'),
  ];
}
