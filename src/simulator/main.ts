/** `npm run simulator`: the simulated provider as a separate process. */
import { randomUUID } from 'node:crypto';
import process from 'node:process';

import { parseCommandLine, UsageError } from './command-line.ts';
import type { CommandLine } from './command-line.ts';
import { startPanel } from './panel.ts';
import type { Panel } from './panel.ts';
import { startSimulator } from './server.ts';
import type { Simulator } from './server.ts';

async function main(): Promise<void> {
  const read = readOptions();
  if (read === undefined) return;
  const { faults, ...options } = read;
  const simulator = await startSimulator({
    // Nothing in this process reads the entries, and it may run for days.
    recordRequests: false,
    allowUnknownRoutes: true,
    // Tasks and identifiers of an earlier run must not exist after a restart.
    newIdentifier: () => `vs${randomUUID().slice(0, 8)}`,
    firstTask: Math.floor(Date.now() / 1000),
    ...options,
  });
  const handles = faults.map((fault) => simulator.faults.inject(fault));
  const { baseUrl, authUrl, keyId, secret } = simulator;
  const panel = await openPanel(simulator, read);
  process.stdout.write(`${JSON.stringify({ baseUrl, authUrl, keyId, secret, panelUrl: panel?.url })}\n`);
  const stop = (): void => {
    // A fault that no request met is no failure here.
    for (const handle of handles) handle.remove();
    void simulator.close();
    void panel?.close();
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** Closes the simulator if the panel cannot listen. */
async function openPanel(simulator: Simulator, { panelPort, host }: CommandLine): Promise<Panel | undefined> {
  if (panelPort === undefined) return undefined;
  return startPanel(simulator, panelPort, host).catch(async (error: unknown) => {
    await simulator.close();
    throw error;
  });
}

/** Undefined if there is nothing to run; for an error, sets the exit code. */
function readOptions(): CommandLine | undefined {
  try {
    const options = parseCommandLine(process.argv.slice(2), process.env);
    if (!('help' in options)) return options;
    process.stdout.write(options.help);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`simulator: ${error.message} (run with --help to list all flags)\n`);
    process.exitCode = 2;
  }
  return undefined;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
