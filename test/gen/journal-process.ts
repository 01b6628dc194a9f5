/**
 * A process that opens a journal, writes attempts, and lives until it is killed, for tests of what survives a process.
 * Arguments: the folder, then a step: `hold` (mint two attempts, begin to send one, and stay alive) or `fill` (the same,
 * but the disk is full before the provider accepts the attempt that was sent, and later has space again). Prints one JSON
 * line.
 */
import { execFileSync } from 'node:child_process';
import { realTimers } from '../../src/base/timers.ts';
import { openJournal } from '../../src/virtual-server/journal/journal.ts';

// The kernel's file size limit simulates a full disk; without a handler it would kill the process.
process.on('SIGXFSZ', () => undefined);

const [dir, step] = process.argv.slice(2);
const attempt = (uid: string, name: string) => ({
  namespace: 'default',
  name: 'web',
  uid,
  attempt: name,
  account: 'acc',
});
const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const limitFiles = (bytes: string): unknown =>
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);

try {
  // Shortens the pause before the next try to write.
  const timers = { ...realTimers, set: (fn: () => void, ms: number) => realTimers.set(fn, ms / 50) };
  const journal = await openJournal({ dir, timers });
  if (step === 'fill') {
    await journal.minted(attempt('sent', 'a1'));
    limitFiles('0');
    const failure = await journal.minted(attempt('unsent', 'a0')).catch(codeOf);
    const { problem } = journal;
    const unsent = journal.entries('unsent');
    await journal.sending('sent', 'a1');
    await journal.task('sent', 'a1', 7);
    limitFiles('unlimited');
    while (journal.problem !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
    await journal.minted(attempt('unsent', 'a0'));
    print({ failure, problem, unsent });
  } else {
    await journal.minted(attempt('unsent', 'a0'));
    await journal.minted(attempt('sent', 'a1'));
    await journal.sending('sent', 'a1');
    print({ ready: true });
  }
  setInterval(() => undefined, 60_000);
} catch (error) {
  print({ code: codeOf(error), message: (error as Error).message });
}
