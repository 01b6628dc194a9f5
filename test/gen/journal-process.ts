/**
 * A process that opens a journal, mints, and lives until it is killed, for tests of what outlives a process.
 * Arguments: the folder, then a step: `hold` (mint one attempt and go on), `fill` (mint until the disk refuses).
 * Prints one JSON line.
 */
import { execFileSync } from 'node:child_process';
import { openJournal } from '../../src/controller/journal.ts';

// Without a handler the kernel's file size limit, which stands for a full disk here, would kill the process.
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
  const journal = await openJournal({ dir });
  let minted = 0;
  const brokenBefore = journal.broken;
  if (step === 'fill') {
    const failure = await (async () => {
      for (;;) {
        await journal.minted(attempt(minted));
        minted++;
      }
    })().catch(codeOf);
    const entries = journal.entries('u').length;
    // The disk has room again; what it holds of the failed line is still unknown.
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:']);
    const sending = await journal.sending('u', 'a0').catch(codeOf);
    const next = await journal.minted(attempt(minted)).catch(codeOf);
    const task = await journal.task('u', 'a0', 1).catch(codeOf);
    print({
      minted,
      failure,
      broken: [brokenBefore, journal.broken],
      entries,
      sending,
      next,
      task,
      states: journal
        .entries('u')
        .map((entry) => entry.state)
        .slice(0, 2),
    });
  } else {
    await journal.minted(attempt(0));
    await journal.sending('u', 'a0');
    print({ ready: true });
  }
  setInterval(() => undefined, 60_000);
} catch (error) {
  print({ code: codeOf(error), message: (error as Error).message });
}
