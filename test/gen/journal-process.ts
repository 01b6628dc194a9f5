/**
 * A process that opens a journal, writes attempts, and lives until it is killed, for tests of what survives a process.
 * Arguments: the folder, then a step: `hold` (mint one attempt and stay alive) or `fill` (mint attempts until the disk
 * is full, and again once it has space). Prints one JSON line.
 */
import { execFileSync } from 'node:child_process';
import { openJournal } from '../../src/virtual-server/journal/journal.ts';
import { realTimers } from '../../src/base/timers.ts';

// The kernel's file size limit simulates a full disk; without a handler it would kill the process.
process.on('SIGXFSZ', () => undefined);

const [dir, step] = process.argv.slice(2);
const attempt = (number: number) => ({
  namespace: 'default',
  name: 'web',
  uid: 'u',
  attempt: `a${number}`,
  account: 'acc',
});
const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

try {
  // Shortens the pause before the journal is rewritten.
  const timers = { ...realTimers, set: (fn: () => void, ms: number) => realTimers.set(fn, ms / 50) };
  const journal = await openJournal({ dir, timers });
  let minted = 0;
  const problemBefore = journal.problem;
  if (step === 'fill') {
    const failure = await (async () => {
      for (;;) {
        await journal.minted(attempt(minted));
        minted++;
      }
    })().catch(codeOf);
    const problem = journal.problem;
    const sending = await journal.sending('u', 'a0').catch(codeOf);
    const next = await journal.minted(attempt(minted)).catch(codeOf);
    const task = await journal.task('u', 'a0', 1).catch(codeOf);
    const states = journal.entries('u').map((entry) => entry.state);
    // The disk has space again; how much of the failed line it holds is unknown.
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:']);
    while (journal.problem !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
    await journal.minted(attempt(minted));
    await journal.sending('u', `a${minted}`);
    print({ minted, failure, problems: [problemBefore ?? null, problem], sending, next, task, states });
  } else {
    await journal.minted(attempt(0));
    await journal.sending('u', 'a0');
    print({ ready: true });
  }
  setInterval(() => undefined, 60_000);
} catch (error) {
  print({ code: codeOf(error), message: (error as Error).message });
}
