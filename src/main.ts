/** The operator process: flags, signals, exit codes; decides nothing. */
import { parseConfig, type Config } from './config.ts';
import { createLogger, type Logger } from './logger.ts';
import { version } from './version.ts';
import { wireOperator, type WiredOperator } from './wiring.ts';

/** Wrong usage, as most command-line programs have it. */
const EXIT_USAGE = 2;

async function run(config: Config, log: Logger): Promise<void> {
  if (config.journalDir === undefined) {
    log.warn('no --journal-dir: a create whose answer is lost in a crash has to be resolved by a person');
  }
  const operator = await wireOperator(config, log);
  const stopped = stopOnSignal(operator, log);
  const { baseUrl, watchNamespaces } = config;
  log.info({ version: version(), baseUrl, watchNamespaces }, 'operator starts');
  await operator.start().catch((error: unknown) => {
    // A signal came before the start was done: that it never will be is no failure.
    if (!stopped()) throw error;
  });
}

/** A second signal changes nothing: whoever cannot wait sends SIGKILL. Returns whether there was a signal. */
function stopOnSignal(operator: WiredOperator, log: Logger): () => boolean {
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
  return () => stopping;
}

function fail(log: Logger, error: unknown): never {
  log.fatal({ err: error }, 'operator failed');
  process.exit(1);
}

const parsed = parseConfig(process.argv.slice(2), process.env);
if (parsed.kind === 'run') {
  const log = createLogger({ level: parsed.config.logLevel });
  run(parsed.config, log).catch((error: unknown) => fail(log, error));
} else {
  const stream = parsed.kind === 'error' ? process.stderr : process.stdout;
  stream.write(`${parsed.kind === 'error' ? parsed.message : parsed.text}\n`);
  process.exitCode = parsed.kind === 'error' ? EXIT_USAGE : 0;
}
