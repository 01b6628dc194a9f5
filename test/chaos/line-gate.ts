/** What a proxy does with the lines of the watches that run through it: passes them, holds them back, or loses them. */

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

  /** Nothing more of what happens is told, until `open`, which tells it all. */
  hold(): void {
    this.#mode = 'hold';
  }

  /** What happens from now on is never told to the watches that run. */
  drop(): void {
    this.#mode = 'drop';
  }

  open(): void {
    this.#mode = 'open';
    for (const [listener, held] of this.#members) for (const line of held.splice(0)) listener.line(line);
  }

  /** Ends every watch as the API server does when their version has become too old: they have to list again. */
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
