/** The operator process: wires the rooms, listens to signals, sets exit codes; decides nothing. */
import { createKube } from './kube/client.ts';
import { loadCluster } from './kube/config.ts';
import { createKubeHttp } from './kube/http.ts';
import { createInformer } from './kube/informer.ts';
import { createLogger, type Logger } from './logger.ts';
import { createProvider } from './provider/index.ts';
import { openJournal } from './controller/journal.ts';
import { Operator } from './controller/operator.ts';
import { parseConfig, type Config } from './config.ts';
import { version } from './version.ts';

/** Wrong usage, as most command-line programs have it. */
const EXIT_USAGE = 2;

async function run(config: Config): Promise<void> {
  const log = createLogger({ level: config.logLevel });
  if (config.journalDir === undefined) {
    log.warn('no --journal-dir: a create whose answer is lost in a crash has to be resolved by a person');
  }
  const journal = await openJournal({ dir: config.journalDir, warn: (message, fields) => log.warn(fields, message) });
  const http = createKubeHttp({ cluster: loadCluster(config.kubeconfig), timeoutMs: config.kubeTimeoutMs });
  const provider = createProvider({
    baseUrl: config.baseUrl,
    authUrl: config.authUrl,
    timeoutMs: config.providerTimeoutMs,
    createTimeoutMs: config.createTimeoutMs,
    qps: config.providerQps,
    userAgent: `vps-operator/${version()}`,
  });
  const namespaces = config.watchNamespaces.length === 0 ? 'all' : config.watchNamespaces;
  const operator = new Operator({
    ...config,
    kube: createKube({ http }),
    informer: (handler) => createInformer({ http, namespaces, handler, log }),
    provider,
    journal,
    log,
    pollIntervalMs: config.pollIntervalMs,
    resyncIntervalMs: config.resyncIntervalMs,
  });
  stopOnSignal(operator, log);
  log.info({ version: version(), baseUrl: config.baseUrl, namespaces }, 'operator starts');
  await operator.start();
}

/** A second signal changes nothing: whoever cannot wait sends SIGKILL. */
function stopOnSignal(operator: Operator, log: Logger): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'operator stops');
    operator.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(log, error),
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

function fail(log: Logger, error: unknown): never {
  log.fatal({ err: error }, 'operator failed');
  process.exit(1);
}

const parsed = parseConfig(process.argv.slice(2), process.env);
if (parsed.kind === 'run') {
  run(parsed.config).catch((error: unknown) => fail(createLogger({ level: parsed.config.logLevel }), error));
} else {
  const stream = parsed.kind === 'error' ? process.stderr : process.stdout;
  stream.write(`${parsed.kind === 'error' ? parsed.message : parsed.text}\n`);
  process.exitCode = parsed.kind === 'error' ? EXIT_USAGE : 0;
}
