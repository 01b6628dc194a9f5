/** Opens an address in the user's browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Terminal } from './terminal.ts';

/** An opener that is still running then has found a browser: some stay until the browser is closed. */
const OPENED_MS = 3000;

/** The web address of a host that the provider names; undefined for any other kind of address. */
export function webAddress(host: string): string | undefined {
  // The provider names no protocol.
  const url = URL.parse(/^[a-z][-a-z0-9+.]*:\/\//i.test(host) ? host : `https://${host}`);
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' ? url.href : undefined;
}

/** The program of the platform that opens an address, with its arguments before the address; undefined without a screen. */
export function openerFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): Terminal['opener'] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  // Some shells unset a variable by an empty text.
  return [env.DISPLAY, env.WAYLAND_DISPLAY].some(Boolean) ? ['xdg-open'] : undefined;
}

/** Resolves with why no browser opened it; undefined if one did. `url`: as `webAddress` returns it. */
export async function openInBrowser({ opener }: Pick<Terminal, 'opener'>, url: string): Promise<string | undefined> {
  const [program, ...args] = opener ?? [];
  if (program === undefined) return 'there is no screen here';
  // Without a shell, so no character of the address has a meaning.
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  try {
    const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(OPENED_MS) })) as [number | null];
    return code === 0 ? undefined : `${program} failed`;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return undefined;
    return `${program} cannot be started`;
  } finally {
    child.unref();
  }
}
