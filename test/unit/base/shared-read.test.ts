import { describe, expect, it } from 'vitest';
import { sharedRead } from '../../../src/base/shared-read.ts';

describe('a shared read', () => {
  /** Reads that the test ends, with the number of the read. */
  function reads() {
    const begun: PromiseWithResolvers<number>[] = [];
    const ask = sharedRead(() => {
      const read = Promise.withResolvers<number>();
      begun.push(read);
      return read.promise;
    });
    const end = (index: number): void => begun[index]?.resolve(index);
    return { begun, ask, end };
  }
  const ticks = () => new Promise((resolve) => setImmediate(resolve));

  it('is one read for all who ask before it begins', async () => {
    const { begun, ask, end } = reads();
    const answers = [ask(), ask(), ask()];
    await ticks();
    expect(begun).toHaveLength(1);
    end(0);
    expect(await Promise.all(answers)).toEqual([0, 0, 0]);
  });

  it('is another read for those who ask while one runs, which begins when that one has ended', async () => {
    const { begun, ask, end } = reads();
    const first = ask();
    await ticks();
    const later = [ask(), ask()];
    await ticks();
    expect(begun).toHaveLength(1);
    end(0);
    expect(await first).toBe(0);
    await ticks();
    expect(begun).toHaveLength(2);
    end(1);
    expect(await Promise.all(later)).toEqual([1, 1]);
  });

  it('fails for those who share it, and not for later ones', async () => {
    const { begun, ask, end } = reads();
    const failing = [ask(), ask()].map((answer) => answer.catch((error: unknown) => error));
    await ticks();
    const later = ask();
    const error = new Error('refused');
    begun[0]?.reject(error);
    expect(await Promise.all(failing)).toEqual([error, error]);
    await ticks();
    end(1);
    expect(await later).toBe(1);
  });
});
