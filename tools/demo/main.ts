/** `npm run demo`: flags, signals and exit codes of the demo. */
import { parseArgs } from 'node:util';
import { API_NAMES, type ApiName } from '../../src/simulator/variants.ts';
import type { CleanUp, DemoOptions } from './run.ts';

const HELP = `Shows the life of a server with kubectl: what can be ordered, order, progress, cancellation.

Usage: npm run demo [-- [--keep] [--lost-order] [--api NAME]]

  --keep         stop before the delete and leave everything running until Ctrl-C
  --lost-order   show an order whose answer is lost, and how you resolve it
  --api NAME     API of the simulated provider: documented (default), or public, the API of Mythic Beasts
  --help         this text
`;
const EXIT_USAGE = 2;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Resolves with the exit code. */
async function demo(flags: Pick<DemoOptions, 'keep' | 'lostOrder' | 'api'>): Promise<number> {
  // Loading the programs takes a second.
  say('starting a simulated provider, a Kubernetes API server and the operator; Ctrl-C stops everything');
  const cleanUp: CleanUp = [];
  let kept = false;
  let toTell = false;
  // Starts a new line, because a command may have drawn on this one.
  const tellStop = (): void => {
    if (toTell) say('\nstopping');
    toTell = false;
  };
  const signalled = new Promise<number>((resolve) => {
    for (const [signal, code] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        resolve(kept ? 0 : code);
        toTell = true;
      });
    }
    // If the reader of the output exits, such as head, the demo ends as on a signal.
    process.stdout.on('error', () => resolve(1));
  });
  const onKept = (): void => {
    kept = true;
  };
  const started = performance.now();
  try {
    const { runDemo } = await import('./run.ts');
    const finished = runDemo({ say, onKept, onQuiet: tellStop, ...flags }, cleanUp).then(() => {
      say(`done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
      return 0;
    });
    return await Promise.race([finished, signalled]);
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    for (const end of cleanUp.toReversed()) await end();
    // The programs that draw had not started.
    tellStop();
  }
}

interface Flags {
  keep: boolean;
  'lost-order': boolean;
  api: ApiName;
  help: boolean;
}

function readFlags(): Flags | undefined {
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    keep: flag,
    'lost-order': flag,
    api: { type: 'string', default: 'documented' },
    help: flag,
  } as const;
  try {
    const { api: name, ...values } = parseArgs({ options, strict: true, allowPositionals: false }).values;
    const api = API_NAMES.find((one) => one === name);
    if (api === undefined) throw new Error(`--api must be one of ${API_NAMES.join(', ')}`);
    return { ...values, api };
  } catch (error) {
    const [message = ''] = (error as Error).message.split('. ', 1);
    process.stderr.write(`demo: ${message} (--help lists the flags)\n`);
    return undefined;
  }
}

const flags = readFlags();
if (flags?.help === true) process.stdout.write(HELP);
process.exit(
  flags === undefined
    ? EXIT_USAGE
    : flags.help
      ? 0
      : await demo({ keep: flags.keep, lostOrder: flags['lost-order'], api: flags.api }),
);
