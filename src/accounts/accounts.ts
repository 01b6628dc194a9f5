/**
 * The accounts that the objects use: reads API keys from Secrets by name, and keeps an account at the provider for each.
 * The last good key stays in memory, because deleting a namespace removes the Secret before the objects that need its key
 * to cancel their servers.
 */
import { callProblem, missing, reasonOf, type Missing } from './decision/failure.ts';
import { backoffDelay } from '../base/backoff.ts';
import type { Logger } from '../base/logger.ts';
import { capitalized, ended } from '../base/text.ts';
import type { Timers } from '../base/timers.ts';
import { KubeError } from '../kube/error.ts';
import { isUnreadable, remedyOf } from '../kube/failing-reads.ts';
import type { ReadSecret, SecretReader } from '../kube/kinds.ts';
import { ProviderError } from '../provider/error.ts';
import type { Account, ApiKey, Catalog, OrdersGo, OrdersTold, Provider, Session } from '../provider/types.ts';
import { timestamp } from '../base/duration.ts';
import { err, ok, type Result } from '../base/result.ts';

export type Found = Result<{ session: Session; note?: string | undefined }, Missing>;

/** The circumstances in which an object needs a session. */
export interface Use {
  /** The object has a server or an attempt, so the last good key may be used. */
  held: boolean;
  /** The object is being deleted, so the fallback Secret may be used too. */
  deleting: boolean;
  /** A user just changed the object, so its key is read and tried again now; a good key only if the object holds nothing. */
  asked?: boolean;
}

/** A Secret with an API key. */
export interface SecretName {
  namespace: string;
  name: string;
}

export interface AccountsOptions {
  kube: SecretReader;
  provider: Pick<Provider, 'account'>;
  timers: Timers;
  log: Logger;
  /** How long a working key is used before its Secret is read again (ms). */
  refreshMs: number;
  /** Namespace of the fallback Secrets `<namespace>.<name>` for objects that are being deleted. */
  operatorNamespace: string | undefined;
  /** Called when this Secret has a new key or its key works again: objects that failed with it should be visited. */
  onChange: (namespace: string, name: string) => void;
  /** Called when the orders of the account of this Secret go another way than before. */
  onOrders: (namespace: string, name: string) => void;
}

/** What is known of a Secret. */
interface Entry extends SecretName {
  /** The account of the last good key. */
  account?: Account;
  /** How many recoveries of the account are known to the objects that use this Secret. */
  recoveries: number;
  /** resourceVersion of the Secret at the last read that found it. */
  version?: string;
  /** On the monotonic clock (ms). */
  readAt: number;
  /** The problem found at the last read. */
  problem?: Missing | undefined;
  /** When a read first found a problem, in a row (ms since the epoch). */
  problemSince?: number | undefined;
  /** Consecutive reads without a new key. */
  fruitless: number;
  /** The Secret is not read again before this time (ms, monotonic clock). */
  notBefore: number;
  /** The key cannot see what an object holds, so the Secret is read again as soon as the backoff allows. */
  suspect: boolean;
  reading?: Promise<void> | undefined;
}

const UNREAD = { recoveries: 0, readAt: -Infinity, fruitless: 0, notBefore: -Infinity, suspect: false };

/** The line of the log when the orders of an account go this way from now on. */
const ORDERS_GO: Record<OrdersGo, readonly ['info' | 'warn', string]> = {
  named: ['info', 'orders go under an identifier'],
  anonymous: ['info', 'orders go without an identifier: the provider has no list of servers'],
  refused: ['warn', 'orders go without an identifier: the provider lists servers, but takes no order under one'],
  unknown: [
    'warn',
    'orders wait: with --orders=auto the list of servers decides, and it cannot be read; see --orders=anonymous',
  ],
};

const FIRST_PAUSE_MS = 1_000;
const BACKOFF = { baseMs: FIRST_PAUSE_MS, maxMs: 60_000, jitter: [1, 1] } as const;
const LOOK_EVERY_MS = 60_000;
const PREFETCHES = 8;

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #entries = new Map<string, Entry>();
  #timer: unknown;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** Reads the keys before any other work, because their Secrets may be deleted at any moment. */
  async prefetch(secrets: Iterable<SecretName>): Promise<void> {
    const queue = [...new Map([...secrets].map((secret) => [idOf(secret), secret])).values()];
    const take = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const { namespace, name } = next;
        await this.get(namespace, name, { held: true, deleting: false }).catch((error: unknown) =>
          this.#options.log.warn({ namespace, err: error }, 'failed to read a Secret at startup'),
        );
      }
    };
    await Promise.all(Array.from({ length: PREFETCHES }, take));
  }

  /**
   * Once a minute, forgets keys that no object uses and looks for keys that work again; not more often, because `inUse`
   * goes through every object. It returns the Secrets that objects refer to, which may repeat.
   */
  start(inUse: () => Iterable<SecretName>): void {
    this.#timer = this.#options.timers.set(() => {
      this.keepOnly(inUse());
      for (const entry of this.#entries.values()) this.#noticeRecovery(entry);
      this.start(inUse);
    }, LOOK_EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== undefined) this.#options.timers.clear(this.#timer);
  }

  /** Returns a session for an object. Throws KubeError if the Secret could not be read just now and no key is in memory. */
  async get(namespace: string, name: string, use: Use): Promise<Found> {
    const entry = await this.#fresh({ namespace, name }, use);
    if (entry.account !== undefined && entry.problem === undefined) return found(entry.account, namespace, use);
    const last = use.held ? entry.account : undefined;
    const fallback = use.deleting && (last === undefined || isDoubtful(entry));
    const other = fallback ? await this.#fallback(entry, use) : undefined;
    if (other !== undefined) return other;
    if (last === undefined) return err(this.#missing(entry, use.deleting));
    const note = noteOn(entry);
    return found(last, namespace, use, note);
  }

  /** The name of the account of the key last read from the Secret or its fallback, if the provider has accepted that key. */
  acceptedAccount(namespace: string, name: string): string | undefined {
    const accounts = this.#known({ namespace, name }).flatMap(({ account }) => account ?? []);
    return accounts.find((account) => account.isAccepted())?.name;
  }

  /** Records that the key of this Secret or of its fallback cannot see what an object holds. */
  suspect(namespace: string, name: string): void {
    for (const entry of this.#known({ namespace, name })) entry.suspect = true;
  }

  /** How many accounts there are by the way of their orders. */
  ordersGo(): Record<OrdersGo, number> {
    const counts: Record<OrdersGo, number> = { named: 0, anonymous: 0, refused: 0, unknown: 0 };
    const accounts = new Set([...this.#entries.values()].flatMap(({ account }) => account ?? []));
    for (const account of accounts) counts[account.ordersGo()] += 1;
    return counts;
  }

  /** Forgets every other Secret, except the fallbacks of these. */
  keepOnly(secrets: Iterable<SecretName>): void {
    const needed = new Set([...secrets].flatMap((secret) => [idOf(secret), idOf(this.#fallbackOf(secret))]));
    for (const id of this.#entries.keys()) if (!needed.has(id)) this.#entries.delete(id);
  }

  async #fallback(secret: SecretName, use: Use): Promise<Found | undefined> {
    const { operatorNamespace } = this.#options;
    if (operatorNamespace === undefined || secret.namespace === operatorNamespace) return undefined;
    const instead = this.#fallbackOf(secret);
    const { account, problem } = await this.#fresh(instead, use);
    if (account === undefined || problem !== undefined) return undefined;
    return found(account, secret.namespace, use, `The operator uses the key of Secret ${idOf(instead)}`);
  }

  #fallbackOf({ namespace, name }: SecretName): SecretName {
    return { namespace: this.#options.operatorNamespace ?? '', name: `${namespace}.${name}` };
  }

  /** What is known of the Secret and of its fallback. */
  #known(secret: SecretName): Entry[] {
    return [secret, this.#fallbackOf(secret)].flatMap((each) => this.#entries.get(idOf(each)) ?? []);
  }

  #missing({ namespace, name, problem, notBefore }: Entry, deleting: boolean): Missing {
    const { operatorNamespace = "the operator's namespace", timers } = this.#options;
    const known = problem ?? missing('SecretNotFound', `Secret ${name} was not read`);
    const help = deleting
      ? ` The operator cancels the server once there is a key: restore the Secret or, if you cannot, create Secret ${namespace}.${name} in ${operatorNamespace}`
      : '';
    return {
      ...known,
      message: ended(known.message) + help,
      retryAfterMs: Math.max(FIRST_PAUSE_MS, notBefore - timers.monotonic()),
    };
  }

  /** The entry, after reading the Secret again if that is due. Concurrent callers share one read. */
  async #fresh(secret: SecretName, { asked = false, held }: Use): Promise<Entry> {
    const id = idOf(secret);
    const entry: Entry = this.#entries.get(id) ?? { ...secret, ...UNREAD };
    this.#entries.set(id, entry);
    this.#noticeRecovery(entry);
    const now = this.#options.timers.monotonic();
    const isGood = entry.account !== undefined && entry.problem === undefined && !isDoubtful(entry);
    const { readAt, notBefore } = entry;
    const dueAt = isGood ? readAt + this.#options.refreshMs : notBefore;
    // An object that holds a server keeps using a good key. For any other, you may want to know whether a new key works.
    const isAsked = asked && !(isGood && held);
    if (now < (isAsked ? Math.min(dueAt, readAt + FIRST_PAUSE_MS) : dueAt)) return entry;
    entry.reading ??= this.#read(entry).finally(() => {
      entry.reading = undefined;
    });
    await entry.reading;
    return entry;
  }

  async #read(entry: Entry): Promise<void> {
    const { kube, timers } = this.#options;
    const { namespace, name, version } = entry;
    let parsed: Result<ApiKey, Missing>;
    try {
      const secret = await kube.getSecret(namespace, name);
      if (secret !== undefined) entry.version = secret.resourceVersion;
      parsed = parseApiKey(secret, namespace, name);
    } catch (error) {
      if (!isUnreadable(error) && !(error instanceof KubeError && entry.account !== undefined)) throw error;
      parsed = err(secretUnreadable(namespace, name, error));
    }
    const now = timers.monotonic();
    entry.readAt = now;
    if (!parsed.ok) {
      entry.problem = parsed.error;
      entry.problemSince ??= timers.now();
    } else {
      const before = entry.account;
      const account = before?.hasKey(parsed.value) === true ? before : this.#accountOf(parsed.value);
      const isMended = entry.problem !== undefined;
      entry.account = account;
      entry.problem = undefined;
      entry.problemSince = undefined;
      // A user who writes the Secret again, even with the same key, expects the key to work now.
      const isRewritten = version !== undefined && version !== entry.version;
      if (isRewritten) account.retryLogin();
      if (account !== before || isMended) {
        this.#begin(entry);
        // No object can be waiting for a Secret that is read for the first time.
        if (before !== undefined || isMended) this.#changed(entry);
        return;
      }
      // Only reads that look for a new key increase the backoff.
      if (!isDoubtful(entry)) return;
      if (isRewritten) {
        entry.fruitless = 0;
        this.#changed(entry);
      }
    }
    entry.notBefore = now + backoffDelay(entry.fruitless, BACKOFF, 0);
    entry.fruitless += 1;
  }

  /** Secrets with the same key share its account. */
  #accountOf(key: ApiKey): Account {
    const accounts = [...this.#entries.values()].flatMap(({ account }) => account ?? []);
    const known = accounts.find((account) => account.hasKey(key));
    if (known !== undefined) return known;
    const created: Account = this.#options.provider.account(key, (...change) => this.#tellOrders(created, ...change));
    return created;
  }

  #tellOrders(account: Account, ...[now, before]: Parameters<OrdersTold>): void {
    const entries = [...this.#entries.values()].filter((entry) => entry.account === account);
    const [level, message] = ORDERS_GO[now];
    this.#options.log[level]({ account: account.name, secrets: entries.map(idOf) }, message);
    if (before !== undefined) for (const { namespace, name } of entries) this.#options.onOrders(namespace, name);
  }

  /** Wakes all objects whose key has worked again since it was refused, from whichever Secret it comes. */
  #noticeRecovery({ account, recoveries }: Entry): void {
    if (account === undefined || account.recoveries() === recoveries) return;
    for (const entry of this.#entries.values()) {
      if (entry.account !== account) continue;
      this.#begin(entry);
      this.#changed(entry);
    }
  }

  /** The key has not failed yet, as far as the objects know that use this Secret. */
  #begin(entry: Entry): void {
    entry.recoveries = entry.account?.recoveries() ?? 0;
    entry.fruitless = 0;
    entry.suspect = false;
  }

  #changed({ namespace, name }: SecretName): void {
    const { onChange, operatorNamespace } = this.#options;
    onChange(namespace, name);
    // A fallback Secret `<namespace>.<name>` replaces `<name>` in `<namespace>`; a namespace name has no dot.
    const dot = name.indexOf('.');
    if (namespace === operatorNamespace && dot > 0) onChange(name.slice(0, dot), name.slice(dot + 1));
  }
}

/** What it means for a server that its Secret no longer has a key. */
function noteOn({ problem, problemSince }: Entry): string | undefined {
  if (problem === undefined) return undefined;
  const since = problemSince === undefined ? '' : `, since ${timestamp(problemSince)}`;
  return (
    `${ended(problem.message)} The operator uses the last key that it read from that Secret${since}. The server runs on; once the operator ` +
    'restarts without the key, it can neither read nor cancel the server'
  );
}

function found(account: Account, namespace: string, { asked = false }: Use, note?: string): Found {
  if (asked) account.retryLogin();
  return ok({ session: account.session(namespace), note });
}

function isDoubtful({ account, suspect }: Entry): boolean {
  return suspect || account?.isRefused() === true;
}

function idOf({ namespace, name }: SecretName): string {
  return `${namespace}/${name}`;
}

/**
 * Reads the provider's lists with the key of an object, or returns why they are unavailable. Obtains a token first, so that
 * an order fails before its claim if the provider is down.
 */
export async function readCatalog(session: Session, maxAgeMs: number): Promise<Result<Catalog, Missing>> {
  try {
    await session.ensureToken();
    return ok(await session.catalog(maxAgeMs));
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return err(missing(reasonOf(error), capitalized(callProblem(error)), error.retryAfterMs));
  }
}

/* Reads the API key from a Secret, or reports what is wrong with it. */

export function secretUnreadable(namespace: string, name: string, error: KubeError): Missing {
  const remedy = remedyOf(error, 'Grant the operator this right, or name another Secret in spec.apiKeySecretRef');
  const message = `The operator cannot read Secret ${namespace}/${name}: ${ended(error.message)} ${remedy}`;
  return { reason: 'SecretForbidden', message };
}

/** `keyId` and `secret` of the Secret, without a trailing line break, which editors add. */
export function parseApiKey(read: ReadSecret | undefined, namespace: string, name: string): Result<ApiKey, Missing> {
  const where = `Secret ${namespace}/${name}`;
  if (read === undefined) {
    const create = `\`kubectl create secret generic ${name} -n ${namespace} --from-file=keyId --from-file=secret\``;
    return err({
      reason: 'SecretNotFound',
      message:
        `${where}, which should hold the API key, does not exist. The operator retries automatically, within a minute. If ` +
        'the key is in another Secret, name that Secret in spec.apiKeySecretRef',
      advice: `To create it, put the key ID into a file keyId and the secret into a file secret, and run ${create}`,
    });
  }
  const { data } = read;
  const [keyId, secret] = ['keyId', 'secret'].map((field) => data[field]?.replace(/\r?\n$/, ''));
  if (keyId !== undefined && keyId !== '' && secret !== undefined && secret !== '') return ok({ keyId, secret });
  const lacking = ['keyId', 'secret'].filter((field) => (data[field] ?? '').trim() === '');
  return err({
    reason: 'SecretInvalid',
    message: `${where} must have the keys "keyId" and "secret"; it lacks ${lacking.map((field) => `"${field}"`).join(' and ')}. Add what is missing; the operator retries automatically, within a minute`,
  });
}
