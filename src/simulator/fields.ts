/** Reads the fields of a panel order in JSON; errors name the field. */

/** An invalid panel order; the message names the field and says what is valid. */
export class WrongOrderError extends Error {
  override readonly name = 'WrongOrderError';
}

export class Fields {
  readonly #name: string;
  readonly #values: Map<string, unknown>;

  /** `name`: the name of the object; '' for the body itself. */
  constructor(name: string, value: unknown) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new WrongOrderError(`${name === '' ? 'the body' : name} must be a JSON object`);
    }
    this.#name = name;
    this.#values = new Map(Object.entries(value));
  }

  /** The path of a field in error messages. */
  path(name: string): string {
    return this.#name === '' ? name : `${this.#name}.${name}`;
  }

  text(name: string): string {
    return this.#wanted(name, this.maybeText(name), 'a non-empty string');
  }

  maybeText(name: string): string | undefined {
    return this.#take(name, 'a non-empty string', (value) => typeof value === 'string' && value !== '') as
      string | undefined;
  }

  count(name: string): number {
    const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
    return this.#wanted(name, this.#take(name, COUNT, isCount) as number | undefined, COUNT);
  }

  maybeMs(name: string): number | undefined {
    const isMs = (value: unknown): boolean => typeof value === 'number' && value >= 0;
    return this.#take(name, 'milliseconds, 0 or more', isMs) as number | undefined;
  }

  /** Null means Infinity. */
  maybeMsOrNull(name: string): number | undefined {
    if (this.#values.get(name) !== null) return this.maybeMs(name);
    this.#values.delete(name);
    return Infinity;
  }

  maybeFlag(name: string): boolean | undefined {
    return this.#take(name, 'true or false', (value) => typeof value === 'boolean') as boolean | undefined;
  }

  choice<T extends string | number>(name: string, choices: readonly T[]): T {
    return this.#wanted(name, this.maybeChoice(name, choices), oneOf(choices));
  }

  maybeChoice<T extends string | number>(name: string, choices: readonly T[]): T | undefined {
    return this.#take(name, oneOf(choices), (value) => choices.includes(value as T)) as T | undefined;
  }

  /** Throws WrongOrderError if a field was not read. */
  end(): void {
    const [unknown] = this.#values.keys();
    if (unknown !== undefined) throw new WrongOrderError(`${this.path(unknown)} is not a known field`);
  }

  #wanted<T>(name: string, value: T | undefined, what: string): T {
    if (value === undefined) throw new WrongOrderError(`${this.path(name)} must be ${what}`);
    return value;
  }

  #take(name: string, what: string, fits: (value: unknown) => boolean): unknown {
    const value = this.#values.get(name);
    this.#values.delete(name);
    if (value !== undefined && !fits(value)) {
      throw new WrongOrderError(`${this.path(name)} must be ${what}, not ${JSON.stringify(value)}`);
    }
    return value;
  }
}

const COUNT = 'a whole number, 0 or more';

function oneOf(choices: readonly (string | number)[]): string {
  return `one of ${choices.join(', ')}`;
}
