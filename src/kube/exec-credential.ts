/**
 * Runs the credential plugin of a kubeconfig (`exec`) as client-go does. client-node's own runner keeps a credential that the
 * API server refuses, tells the plugin nothing about the cluster, and cannot end a plugin that hangs.
 */
import { spawn } from 'node:child_process';
import * as z from 'zod';
import { cut, printable } from '../base/text.ts';
import { KubeError } from './error.ts';

export interface ExecEntry {
  apiVersion: string;
  command: string;
  args: string[];
  env: { name: string; value: string }[];
  installHint: string;
  provideClusterInfo: boolean;
  interactiveMode: string;
}

/** Where a credential plugin runs. */
export interface PluginHost {
  /** For `kubectl vps`: standard error goes to the terminal, and a plugin may ask questions there. */
  terminal?: { isInteractive: boolean };
  /** Without a terminal: gets what the plugin wrote to standard error, cut and without secrets. */
  onStderr?: (text: string) => void;
}

export interface ExecCredential {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const MODES = ['Never', 'IfAvailable', 'Always'];
/** Credentials are a few kilobytes. */
const MAX_STDOUT = 1024 * 1024;
const MAX_STDERR = 64 * 1024;
/** Maximum characters of standard error in a log line, and in an error. */
const MAX_SHOWN = 1_000;
const MAX_IN_ERROR = 300;
/** Shorter values of the plugin's environment, such as the name of a profile, are no secrets. */
const MIN_SECRET = 8;

/** Throws an Error that names the field. `what`: the kubeconfig and the user. */
export function validateExec({ apiVersion, command, env, interactiveMode }: ExecEntry, what: string): void {
  if (command === '') throw new Error(`${what} has no exec.command: give the command of the credential plugin`);
  if (!VERSIONS.includes(apiVersion)) {
    throw new Error(`${what} has the exec.apiVersion "${apiVersion}": give ${VERSIONS.join(' or ')}`);
  }
  if (interactiveMode !== '' && !MODES.includes(interactiveMode)) {
    throw new Error(`${what} has the exec.interactiveMode "${interactiveMode}": give ${MODES.join(', ')}`);
  }
  if (env.some(({ name }) => name === '')) throw new Error(`${what} has an exec.env entry without a name`);
}

const CREDENTIAL = z.object({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  status: z
    .object({
      token: z.string().nullish(),
      clientCertificateData: z.string().nullish(),
      clientKeyData: z.string().nullish(),
      expirationTimestamp: z.string().nullish(),
    })
    .nullish(),
});

export class CredentialPlugin {
  readonly #exec: ExecEntry;
  readonly #clusterInfo: () => object;
  readonly #host: PluginHost;
  #held: { credential: ExecCredential; expiresAt: number | undefined } | undefined;
  #run: Promise<ExecCredential> | undefined;

  /** `clusterInfo`: what `provideClusterInfo` tells the plugin. */
  constructor(exec: ExecEntry, clusterInfo: () => object, host: PluginHost) {
    this.#exec = exec;
    this.#clusterInfo = clusterInfo;
    this.#host = host;
  }

  /**
   * The credential, until it expires; with `renew`, a new one. A plugin that runs already is waited for, and ends with the
   * signal of the call that started it. Throws KubeError `Unreachable`.
   */
  async get({ signal, renew = false }: { signal?: AbortSignal; renew?: boolean } = {}): Promise<ExecCredential> {
    if (this.#run !== undefined) return this.#run;
    if (renew) this.#held = undefined;
    const { credential, expiresAt = Infinity } = this.#held ?? {};
    if (credential !== undefined && Date.now() < expiresAt) return credential;
    this.#run = this.#obtain(signal).finally(() => (this.#run = undefined));
    return this.#run;
  }

  async #obtain(signal: AbortSignal | undefined): Promise<ExecCredential> {
    const { stdout, stderr, ended } = await this.#execute(signal);
    const parsed = parse(stdout);
    const { token, clientKeyData, clientCertificateData, expirationTimestamp } = parsed?.status ?? {};
    const said = withoutSecrets(stderr, [
      ...[token, clientKeyData, this.#held?.credential.token],
      ...this.#exec.env.map(({ value }) => (value.length < MIN_SECRET ? undefined : value)),
    ]);
    if (said !== '') this.#host.onStderr?.(cut(said, MAX_SHOWN));
    if (ended !== undefined) throw this.#failure(`${ended}${said === '' ? '' : `: ${cut(said, MAX_IN_ERROR)}`}`);
    if (parsed === undefined) throw this.#failure('it did not print an ExecCredential in JSON');
    const { apiVersion } = parsed;
    // Some plugins leave it out, which client-node accepted.
    if (apiVersion !== undefined && apiVersion !== this.#exec.apiVersion) {
      throw this.#failure(`it printed the apiVersion "${cut(apiVersion, 100)}" instead of ${this.#exec.apiVersion}`);
    }
    if (!parsed.status) throw this.#failure('it printed no status');
    if (!token && !clientKeyData && !clientCertificateData) {
      throw this.#failure('it printed neither a token nor a certificate');
    }
    if (!clientKeyData !== !clientCertificateData) {
      throw this.#failure('it printed only one of clientCertificateData and clientKeyData');
    }
    const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
    if (Number.isNaN(expiresAt)) throw this.#failure('it printed an expirationTimestamp that is not in RFC 3339');
    const credential = {
      token: token || undefined,
      cert: clientCertificateData || undefined,
      key: clientKeyData || undefined,
    };
    this.#held = { credential, expiresAt };
    return credential;
  }

  /** Resolves once the plugin has ended; `ended` says how, unless it succeeded. */
  #execute(signal: AbortSignal | undefined): Promise<{ stdout: string; stderr: string; ended?: string }> {
    const { command, args } = this.#exec;
    const { terminal } = this.#host;
    const isInteractive = this.#isInteractive();
    const env = this.#environment(isInteractive);
    // In a separate group, it can be ended together with its children. At a terminal, it shares that with this process.
    const detached = terminal === undefined && process.platform !== 'win32';
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(this.#failure('the call has ended'));
        return;
      }
      const child = spawn(command, args, {
        env,
        detached,
        stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', terminal === undefined ? 'pipe' : 'inherit'],
        windowsHide: true,
      });
      let stdout = '';
      let stderr = '';
      let ended: string | undefined;
      const kill = (): void => {
        if (detached && child.pid !== undefined) killGroup(child.pid);
        else child.kill('SIGKILL');
      };
      const end = (why: string): void => {
        ended ??= why;
        kill();
        // A process that has left the group may hold them open.
        child.stdout?.destroy();
        child.stderr?.destroy();
      };
      const abort = (): void => end((signal?.reason as Error | undefined)?.message ?? 'the call has ended');
      signal?.addEventListener('abort', abort, { once: true });
      process.once('exit', kill);
      child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        stdout += chunk;
        if (stdout.length > MAX_STDOUT) end('it printed too much');
      });
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        if (stderr.length < MAX_STDERR) stderr += chunk;
      });
      child.once('error', (error: NodeJS.ErrnoException) => (ended ??= this.#notStarted(error)));
      child.once('close', (code, killedBy) => {
        process.off('exit', kill);
        signal?.removeEventListener('abort', abort);
        // What it has left in the background.
        if (detached) kill();
        if (code !== 0) ended ??= code === null ? `it was ended by ${killedBy ?? 'a signal'}` : `exit code ${code}`;
        resolve({ stdout, stderr, ...(ended !== undefined && { ended }) });
      });
    });
  }

  /** Throws KubeError if the plugin needs a terminal and there is none. */
  #isInteractive(): boolean {
    const { terminal } = this.#host;
    const { interactiveMode } = this.#exec;
    const isPossible = terminal?.isInteractive === true;
    if (interactiveMode === 'Always' && !isPossible) {
      const where = terminal === undefined ? 'the operator has no terminal' : 'standard input is no terminal';
      throw this.#failure(`its interactiveMode is Always, and ${where}: use a user that needs no questions`);
    }
    return isPossible && interactiveMode !== 'Never';
  }

  #environment(interactive: boolean): NodeJS.ProcessEnv {
    const { apiVersion, env, provideClusterInfo } = this.#exec;
    const spec = { interactive, ...(provideClusterInfo && { cluster: this.#clusterInfo() }) };
    return {
      ...process.env,
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
    };
  }

  #notStarted({ code, message }: NodeJS.ErrnoException): string {
    const { installHint } = this.#exec;
    if (code !== 'ENOENT' && code !== 'EACCES') return `it could not be started: ${message}`;
    const why = code === 'ENOENT' ? 'it was not found' : 'it cannot be executed';
    return installHint === '' ? why : `${why}. ${printable(installHint.trim())}`;
  }

  #failure(why: string): KubeError {
    const plugin = `the credential plugin ${printable(this.#exec.command)}`;
    return new KubeError('Unreachable', `cannot obtain credentials for the API server from ${plugin}: ${why}`);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
}

/** Undefined for anything but an ExecCredential. The parser's errors quote the text, which contains the token. */
function parse(stdout: string): z.output<typeof CREDENTIAL> | undefined {
  try {
    const { data } = CREDENTIAL.safeParse(JSON.parse(stdout));
    return data?.kind === undefined || data.kind === 'ExecCredential' ? data : undefined;
  } catch {
    return undefined;
  }
}

const MASK = '***';
const SECRETS: [RegExp, string][] = [
  [/-----BEGIN [^-]*PRIVATE KEY-----[\s\S]*?(-----END [^-]*-----|$)/g, MASK],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${MASK}`],
  [
    /((?:token|secret|passw(?:or)?d|passphrase|api[-_]?key|access[-_]?key)["']?\s*[=:]\s*["']?)[^\s"',;]+/gi,
    `$1${MASK}`,
  ],
  // Parts of tokens, keys and hashes.
  [/[\w+=-]{32,}/g, MASK],
];

/** One line without these secrets and without what looks like one. */
function withoutSecrets(text: string, secrets: readonly (string | null | undefined)[]): string {
  let rest = text;
  for (const secret of secrets) if (secret) rest = rest.replaceAll(secret, MASK);
  for (const [pattern, mask] of SECRETS) rest = rest.replace(pattern, mask);
  return rest.replace(/\s+/g, ' ').trim();
}
