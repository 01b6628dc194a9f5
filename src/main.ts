/** The operator process: flags, signals and exit codes, without any other logic. */
import { isatty } from 'node:tty';
import { parseConfig, type Config } from './config/config.ts';
import { createLogger, type Logger } from './base/logger.ts';
import { keepHeapSmall } from './base/small-heap.ts';
import { version } from './base/version.ts';
import { wireOperator, type WiredOperator } from './wiring.ts';

/** Exit code for wrong usage, as in most command-line programs. */
const EXIT_USAGE = 2;
const EXIT_LOST = 1;

async function run(config: Config, log: Logger): Promise<void> {
  if (config.journalDir === undefined && !config.observeOnly) {
    log.warn('no --journal-dir: if a crash loses the answer to an order, you must resolve that order yourself');
  }
  const lost = Promise.withResolvers<undefined>();
  const operator = await wireOperator(config, log, () => lost.resolve(undefined));
  const end = ending(operator, log);
  process.on('SIGTERM', (signal) => end(0, { signal })).on('SIGINT', (signal) => end(0, { signal }));
  // Shut down in order to record orders in flight; the restarted process waits for the lease.
  void lost.promise.then(() => end(EXIT_LOST, { reason: 'leadership lost' }));
  const { baseUrl, watchNamespaces, network, observeOnly } = config;
  const proxy = network.proxyFor(baseUrl)?.origin;
  log.info({ version: version(), baseUrl, watchNamespaces, proxy, observeOnly }, 'operator starts');
  await operator.start().catch((error: unknown) => {
    // Stopped during startup; not a failure.
    if (!end.hasBegun()) throw error;
  });
}

/** Stops once and ignores further signals; SIGKILL ends the process immediately. */
function ending(operator: WiredOperator, log: Logger) {
  let begun = false;
  const end = (exitCode: number, why: object): void => {
    if (begun) return;
    begun = true;
    log.info(why, 'operator stops');
    operator.stop().then(
      () => process.exit(exitCode),
      (error: unknown) => fail(log, error),
    );
  };
  return Object.assign(end, { hasBegun: () => begun });
}

function fail(log: Logger, error: unknown): never {
  log.fatal({ err: error }, 'operator failed');
  process.exit(1);
}

const parsed = parseConfig(process.argv.slice(2), process.env);
if (parsed.kind === 'run') {
  keepHeapSmall();
  const { logLevel: level, logFormat: format = isatty(1) ? 'text' : 'json' } = parsed.config;
  const log = createLogger({ level, format });
  // Node would print a line of the bundle, which no reader of the log finds.
  process.on('uncaughtException', (error) => fail(log, error));
  run(parsed.config, log).catch((error: unknown) => fail(log, error));
} else {
  const stream = parsed.kind === 'error' ? process.stderr : process.stdout;
  stream.write(`${parsed.kind === 'error' ? parsed.message : parsed.text}\n`);
  process.exitCode = parsed.kind === 'error' ? EXIT_USAGE : 0;
}
