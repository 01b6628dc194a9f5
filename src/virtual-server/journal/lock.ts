/**
 * The lock on the journal's folder: a socket that listens as long as the process lives. On Linux its name is abstract:
 * the kernel takes and releases it at once, and a dead process leaves nothing behind. Abstract names belong to a
 * network namespace, so the lock does not separate two pods that share a folder. Elsewhere (on developers' machines) it
 * is a socket file in the folder; a later process removes it if no process answers.
 */
import { open, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { JournalError } from './notes.ts';

/** Resolves with the function that releases the lock; throws a JournalError `InUse` while another process holds it. */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  if (process.platform === 'linux') {
    // An open folder keeps its inode, even once it is removed: no other folder gets the name of this lock.
    const folder = await open(dir);
    try {
      const { dev, ino } = await folder.stat({ bigint: true });
      const unlock = await listen(`\0vps-operator-journal-${dev.toString(16)}-${ino.toString(16)}`, dir);
      return async () => {
        await unlock();
        await folder.close();
      };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  const path = join(dir, 'lock');
  if (await isAbandoned(path)) await rm(path, { force: true });
  return listen(path, dir);
}

async function listen(name: string, dir: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') reject(cause);
      else reject(new JournalError('InUse', `journal folder ${dir} is in use by another process`, { cause }));
    });
    server.listen(name, resolve);
  });
  // The lock lives as long as the process, but must not keep the process alive.
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

async function isAbandoned(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}
