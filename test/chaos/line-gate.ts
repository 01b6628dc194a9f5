/** Controls the watch events that run through a proxy: passes them, holds them back, or drops them. */

interface Listener {
  line: (line: string) => void;
  end: () => void;
}

interface Member {
  take(line: string): void;
  leave(): void;
}

export class LineGate {
  #mode: 'open' | 'hold' | 'drop' = 'open';
  readonly #members = new Map<Listener, string[]>();

  /** Holds all events back until `open`, which delivers them. */
  hold(): void {
    this.#mode = 'hold';
  }

  /** Drops all further events of the running watches. */
  drop(): void {
    this.#mode = 'drop';
  }

  open(): void {
    this.#mode = 'open';
    for (const [listener, held] of this.#members) for (const line of held.splice(0)) listener.line(line);
  }

  /** Ends every watch like an API server whose history is too short: clients have to list again. */
  expire(then: 'open' | 'hold'): void {
    this.#mode = then;
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 410,
      reason: 'Expired',
      message: 'too old',
    };
    for (const [listener, held] of this.#members) {
      held.length = 0;
      listener.line(JSON.stringify({ type: 'ERROR', object: status }));
      listener.end();
    }
    this.#members.clear();
  }

  join(listener: Listener): Member {
    const held: string[] = [];
    this.#members.set(listener, held);
    return {
      take: (line) => {
        if (this.#mode === 'open') listener.line(line);
        else if (this.#mode === 'hold') held.push(line);
      },
      leave: () => void this.#members.delete(listener),
    };
  }
}
