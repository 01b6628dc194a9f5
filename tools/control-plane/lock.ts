/** A lock between processes on one machine: a file that names the process which holds it. */
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { reporting, type ProgressListener } from './progress.ts';

const POLL_MS = 500;

/**
 * Runs `work` while no other process holds `file`; waits without limit for a live holder, takes over from a dead one.
 * It saves work but does not protect data: two processes that find the same dead holder at once may both run.
 */
export async function withLock<T>(file: string, progress: ProgressListener, work: () => Promise<T>): Promise<T> {
  while (!(await acquire(file))) {
    const holder = await readHolder(file);
    if (holder !== undefined && !isAlive(holder)) {
      await rm(file, { force: true });
      continue;
    }
    const what = `waiting for process ${holder ?? '?'}, which is fetching the same programs`;
    progress(what);
    await reporting(progress, what, () => released(file, holder));
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** Resolves when this process may have released the lock. */
async function released(file: string, holder: number | undefined): Promise<void> {
  do await sleep(POLL_MS);
  while (holder !== undefined && isAlive(holder) && (await readHolder(file)) === holder);
}

async function acquire(file: string): Promise<boolean> {
  const mine = `${file}.${process.pid}`;
  await writeFile(mine, String(process.pid));
  try {
    // A link is created with its content; a file that is created and then written can be seen empty.
    await link(mine, file);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(mine, { force: true });
  }
}

/** Undefined if the file is gone. */
async function readHolder(file: string): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isErrno(error, 'ESRCH');
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
