/** `kubectl vps` as a process of its own, past every proxy, with the rights of an administrator. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Arena } from './arena.ts';

/** Only bounds a wait in vain (ms). */
const DEADLINE_MS = 60_000;
/** What it says when the object is not, or no longer, as the person saw it: one looks again. */
const LOOK_AGAIN = /changed after it was shown|nothing to resolve|not yet:/;

/** Undefined where there is nothing to complain about. */
export function runPlugin(arena: Arena, namespace: string, words: readonly string[]): Promise<string | undefined> {
  const args = [arena.plugin, ...words, '--kubeconfig', arena.kubeconfig, '--namespace', namespace];
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(arena.folder, 'compile-cache') };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: DEADLINE_MS }, (error, stdout, stderr) => {
      const isFine = error === null || (error.code === 1 && LOOK_AGAIN.test(stderr));
      resolve(isFine ? undefined : `kubectl vps ${words.join(' ')} failed: ${error.message} ${stdout}${stderr}`);
    });
  });
}
