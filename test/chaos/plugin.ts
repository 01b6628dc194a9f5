/** Runs `kubectl vps` as a separate process, past every proxy, with administrator rights. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Arena } from './arena.ts';

/** Ends a run that hangs (ms). */
const DEADLINE_MS = 60_000;
/** Messages of the plugin if the object is not, or no longer, in the expected state: the user checks again. */
const LOOK_AGAIN = /changed after it was shown|nothing to resolve|not yet:/;

/** Undefined on success, or if the user should check again. */
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
