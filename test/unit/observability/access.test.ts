import { describe, expect, it } from 'vitest';
import { createAccess, type Reviews } from '../../../src/observability/access.ts';

/** Who may read is decided by the token: `good` may, `poor` may not, any other is unknown; `slow-...` waits. */
function setUp() {
  const reviewed: string[] = [];
  const clock = { ms: 0 };
  const gate = Promise.withResolvers<undefined>();
  const broken = { error: undefined as Error | undefined };
  const reviews: Reviews = {
    tokens: {
      async create({ spec }) {
        const { token } = spec;
        reviewed.push(token);
        if (broken.error !== undefined) throw broken.error;
        if (token.startsWith('slow-')) await gate.promise;
        const isKnown = ['good', 'poor'].includes(token);
        return { spec, ...(isKnown && { status: { authenticated: true, user: { username: token } } }) };
      },
    },
    rights: {
      create({ spec }) {
        const { path, verb } = spec.nonResourceAttributes;
        return Promise.resolve({
          spec,
          status: { allowed: spec.user === 'good' && `${verb} ${path}` === 'get /metrics' },
        });
      },
    },
  };
  const access = createAccess(reviews, '/metrics', () => clock.ms);
  const ask = (token: string) => access(`Bearer ${token}`);
  return { access, ask, reviewed, clock, gate, broken };
}

describe('access to a page', () => {
  it.each([undefined, '', 'good', 'Basic good', 'Bearer', 'Bearer ', 'Bearer good poor'])(
    'needs a bearer token; the header is %j',
    async (header) => {
      const { access, reviewed } = setUp();
      expect(await access(header)).toBe('unauthorized');
      expect(reviewed).toEqual([]);
    },
  );

  it('is decided by the API server', async () => {
    const { access, ask } = setUp();
    expect([await ask('good'), await ask('poor'), await ask('unknown')]).toEqual([
      'allowed',
      'forbidden',
      'unauthorized',
    ]);
    expect(await access('bearer  good')).toBe('allowed');
  });

  it('is remembered for a minute, and a refusal for ten seconds', async () => {
    const { ask, reviewed, clock } = setUp();
    const at = async (ms: number): Promise<string[]> => {
      clock.ms = ms;
      reviewed.length = 0;
      await Promise.all([ask('good'), ask('good'), ask('poor'), ask('unknown')]);
      return [...reviewed];
    };
    expect(await at(0)).toEqual(['good', 'poor', 'unknown']);
    expect(await at(9_999)).toEqual([]);
    expect(await at(10_000)).toEqual(['poor', 'unknown']);
    expect(await at(59_999)).toEqual(['poor', 'unknown']);
    expect(await at(60_000)).toEqual(['good']);
  });

  it('is not decided, and nothing is remembered, while the API server fails', async () => {
    const { ask, broken } = setUp();
    broken.error = new Error('no answer');
    await expect(ask('good')).rejects.toThrow('no answer');
    broken.error = undefined;
    expect(await ask('good')).toBe('allowed');
  });

  it('asks the API server for few tokens at a time, and keeps answering those that it knows', async () => {
    const { ask, reviewed, gate } = setUp();
    expect(await ask('good')).toBe('allowed');
    const slow = Array.from({ length: 20 }, (_, index) => ask(`slow-${index}`));
    expect(reviewed).toHaveLength(9);
    expect(await ask('good')).toBe('allowed');
    expect(await ask('poor')).toBe('busy');
    gate.resolve(undefined);
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['unauthorized', 'busy']));
    expect(await ask('poor')).toBe('forbidden');
  });

  it('remembers a bounded number of tokens, and an allowed one longer than refused ones', async () => {
    const { ask, reviewed } = setUp();
    await ask('good');
    for (let index = 0; index < 256; index += 1) await ask(`unknown-${index}`);
    reviewed.length = 0;
    await ask('good');
    await ask('unknown-255');
    expect(reviewed).toEqual([]);
    await ask('unknown-0');
    expect(reviewed).toEqual(['unknown-0']);
  });
});
