/** Attempts to create a server, by the uid of their object and in order of minting. */

export interface JournalEntry {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly attempt: string;
  /** `minted`: certainly not sent. `sending`: may have been sent. `task`: accepted, with `task`. */
  readonly state: 'minted' | 'sending' | 'task';
  /** When the attempt was minted, RFC 3339. */
  readonly mintedAt?: string;
  readonly task?: number;
  /** Hash of base URL and key ID that the attempt was minted for. */
  readonly account?: string;
  /** True if minted by this process; false if an earlier one noted it. */
  readonly own: boolean;
}

export class Attempts {
  readonly #byUid = new Map<string, Map<string, JournalEntry>>();

  uids(): string[] {
    return [...this.#byUid.keys()];
  }

  of(uid: string): JournalEntry[] {
    return [...(this.#byUid.get(uid)?.values() ?? [])];
  }

  all(): JournalEntry[] {
    return this.uids().flatMap((uid) => this.of(uid));
  }

  get(uid: string, attempt: string): JournalEntry | undefined {
    return this.#byUid.get(uid)?.get(attempt);
  }

  isCurrent(entry: JournalEntry): boolean {
    return this.get(entry.uid, entry.attempt) === entry;
  }

  /** Adds the entry, or replaces the one with the same uid and attempt. */
  put(entry: JournalEntry): void {
    const entries = this.#byUid.get(entry.uid);
    if (entries === undefined) this.#byUid.set(entry.uid, new Map([[entry.attempt, entry]]));
    else entries.set(entry.attempt, entry);
  }

  delete({ uid, attempt }: Pick<JournalEntry, 'uid' | 'attempt'>): void {
    const entries = this.#byUid.get(uid);
    entries?.delete(attempt);
    if (entries?.size === 0) this.#byUid.delete(uid);
  }
}
