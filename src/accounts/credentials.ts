/**
 * Reads API keys from Secrets by name and caches them. The last good key stays in memory, because deleting a namespace
 * removes the Secret before the objects that need its key to cancel their servers.
 */
import type { Missing } from './decision/failure.ts';
import { backoffDelay } from '../base/backoff.ts';
import { ended } from '../base/text.ts';
import { KubeError } from '../kube/error.ts';
import type { SecretReader } from '../kube/kinds.ts';
import type { ApiKey, Provider, Session } from '../provider/types.ts';
import { parseApiKey, secretForbidden } from './api-key.ts';
import type { Timers } from '../base/timers.ts';

export type Found = { ok: true; session: Session; note?: string } | Missing;

/** The circumstances in which an object needs a session. */
export interface Use {
  /** The object has a server or an attempt, so the last good key may be used. */
  held: boolean;
  /** The object is being deleted, so the fallback Secret may be used too. */
  deleting: boolean;
  /** A user just changed the object, so a failing key is read and tried again now. */
  asked?: boolean;
}

export interface CredentialsOptions {
  kube: SecretReader;
  provider: Provider;
  timers: Timers;
  /** How long a working key is used before its Secret is read again (ms). */
  refreshMs: number;
  /** Namespace of the fallback Secrets `<namespace>.<name>` for objects that are being deleted. */
  operatorNamespace: string | undefined;
  /** Called when this Secret has a new key or its key works again: objects that failed with it should be visited. */
  onChange: (namespace: string, name: string) => void;
}

interface Entry {
  key?: ApiKey;
  /** resourceVersion of the Secret at the last read that found it. */
  version?: string;
  /** On the monotonic clock (ms). */
  readAt: number;
  /** The problem found at the last read. */
  problem?: Missing | undefined;
  /** Consecutive reads without a new key. */
  fruitless: number;
  /** The Secret is not read again before this time (ms, monotonic clock). */
  notBefore: number;
  /** The provider refused the key, so the Secret is read again as soon as the backoff allows. */
  suspect: boolean;
  reading?: Promise<void> | undefined;
}

const FIRST_PAUSE_MS = 1_000;
const BACKOFF = { baseMs: FIRST_PAUSE_MS, maxMs: 60_000, jitter: [1, 1] } as const;

export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: CredentialsOptions) {
    this.#options = options;
    options.provider.onRecovered((key) => this.#recovered(key));
  }

  /** Returns a session for an object. Throws KubeError if the Secret cannot be read and no key is in memory. */
  async get(namespace: string, name: string, use: Use): Promise<Found> {
    const entry = await this.#fresh(namespace, name, use);
    if (entry.key !== undefined && entry.problem === undefined) return this.#found(entry.key, namespace, use);
    const last = use.held ? entry.key : undefined;
    const fallback = use.deleting && (last === undefined || entry.suspect);
    const found = fallback ? await this.#fallback(namespace, name, use) : undefined;
    if (found !== undefined) return found;
    if (last === undefined) return this.#missing(entry, namespace, name, use.deleting);
    return this.#found(
      last,
      namespace,
      use,
      `${ended(entry.problem?.message ?? '')} The operator uses the last key that it read from that Secret`,
    );
  }

  /** The account of the key last read from the Secret or its fallback, if the provider has accepted that key. */
  acceptedAccount(namespace: string, name: string): string | undefined {
    const { operatorNamespace = '', provider } = this.#options;
    const ids = [`${namespace}/${name}`, `${operatorNamespace}/${namespace}.${name}`];
    const keys = ids.flatMap((id) => this.#entries.get(id)?.key ?? []);
    const sessions = keys.map((key) => provider.session(key, namespace));
    return sessions.find((session) => session.isAccepted)?.account;
  }

  /** Records that the provider refused the key of this Secret or of its fallback. */
  suspect(namespace: string, name: string): void {
    const { operatorNamespace = '' } = this.#options;
    for (const id of [`${namespace}/${name}`, `${operatorNamespace}/${namespace}.${name}`]) {
      const entry = this.#entries.get(id);
      if (entry !== undefined) entry.suspect = true;
    }
  }

  async #fallback(namespace: string, name: string, use: Use): Promise<Found | undefined> {
    const { operatorNamespace } = this.#options;
    if (operatorNamespace === undefined || namespace === operatorNamespace) return undefined;
    const { key, problem } = await this.#fresh(operatorNamespace, `${namespace}.${name}`, use);
    if (key === undefined || problem !== undefined) return undefined;
    return this.#found(
      key,
      namespace,
      use,
      `The operator uses the key of Secret ${operatorNamespace}/${namespace}.${name}`,
    );
  }

  /** Forgets every Secret that is not in `needed`. */
  keepOnly(needed: ReadonlySet<string>): void {
    for (const [id, { key }] of this.#entries) {
      if (needed.has(id)) continue;
      this.#entries.delete(id);
      if (key !== undefined && !this.#isUsed(key)) this.#options.provider.forget(key);
    }
  }

  #found(key: ApiKey, namespace: string, use: Use, note?: string): Found {
    const { provider } = this.#options;
    if (use.asked === true) provider.retryLogin(key);
    return { ok: true, session: provider.session(key, namespace), ...(note !== undefined && { note }) };
  }

  #missing(entry: Entry, namespace: string, name: string, deleting: boolean): Missing {
    const { operatorNamespace = "the operator's namespace", timers } = this.#options;
    const problem = entry.problem ?? { ok: false, reason: 'SecretNotFound', message: `Secret ${name} was not read` };
    const help = deleting
      ? ` The operator cancels the server once there is a key: restore the Secret or, if you cannot, create Secret ${namespace}.${name} in ${operatorNamespace}`
      : '';
    return {
      ...problem,
      message: ended(problem.message) + help,
      retryAfterMs: Math.max(FIRST_PAUSE_MS, entry.notBefore - timers.monotonic()),
    };
  }

  /** The entry, after reading the Secret again if that is due. Concurrent callers share one read. */
  async #fresh(namespace: string, name: string, { asked = false }: Use): Promise<Entry> {
    const id = `${namespace}/${name}`;
    const entry = this.#entries.get(id) ?? { readAt: -Infinity, fruitless: 0, notBefore: -Infinity, suspect: false };
    this.#entries.set(id, entry);
    const now = this.#options.timers.monotonic();
    const good = entry.key !== undefined && entry.problem === undefined && !entry.suspect;
    const { readAt, notBefore } = entry;
    const bad = asked ? Math.min(notBefore, readAt + FIRST_PAUSE_MS) : notBefore;
    if (now < (good ? readAt + this.#options.refreshMs : bad)) return entry;
    entry.reading ??= this.#read(entry, namespace, name).finally(() => {
      entry.reading = undefined;
    });
    await entry.reading;
    return entry;
  }

  async #read(entry: Entry, namespace: string, name: string): Promise<void> {
    const { kube, provider, timers } = this.#options;
    const { version } = entry;
    let parsed: ApiKey | Missing;
    try {
      const secret = await kube.getSecret(namespace, name);
      if (secret !== undefined) entry.version = secret.resourceVersion;
      parsed = parseApiKey(secret, namespace, name);
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code !== 'Forbidden' && entry.key === undefined)) throw error;
      parsed = secretForbidden(namespace, name, error.message);
    }
    const now = timers.monotonic();
    entry.readAt = now;
    if ('ok' in parsed) entry.problem = parsed;
    else {
      const before = entry.key;
      const changed = !isSame(before, parsed);
      const recovered = entry.problem !== undefined;
      entry.key = parsed;
      entry.problem = undefined;
      if (changed || recovered) {
        entry.fruitless = 0;
        entry.suspect = false;
        if (before !== undefined && changed && !this.#isUsed(before)) provider.forget(before);
        // No object can be waiting for a Secret that is read for the first time.
        if (before !== undefined || recovered) this.#changed(namespace, name);
        return;
      }
      // A user who writes the Secret again, even with the same key, expects the key to work now.
      const touched = version !== entry.version;
      if (touched) provider.retryLogin(parsed);
      // Only reads that look for a new key increase the backoff.
      if (!entry.suspect) return;
      if (touched) {
        entry.fruitless = 0;
        this.#changed(namespace, name);
      }
    }
    entry.notBefore = now + backoffDelay(entry.fruitless, BACKOFF, 0);
    entry.fruitless += 1;
  }

  /** Handles a refused key that works again. */
  #recovered(key: ApiKey): void {
    for (const [id, entry] of this.#entries) {
      if (!isSame(entry.key, key)) continue;
      entry.suspect = false;
      entry.fruitless = 0;
      const slash = id.indexOf('/');
      this.#changed(id.slice(0, slash), id.slice(slash + 1));
    }
  }

  #changed(namespace: string, name: string): void {
    const { onChange, operatorNamespace } = this.#options;
    onChange(namespace, name);
    // A fallback Secret `<namespace>.<name>` replaces `<name>` in `<namespace>`; a namespace name has no dot.
    const dot = name.indexOf('.');
    if (namespace === operatorNamespace && dot > 0) onChange(name.slice(0, dot), name.slice(dot + 1));
  }

  #isUsed(key: ApiKey): boolean {
    return [...this.#entries.values()].some((entry) => isSame(entry.key, key));
  }
}

function isSame(a: ApiKey | undefined, b: ApiKey): boolean {
  return a?.keyId === b.keyId && a.secret === b.secret;
}
