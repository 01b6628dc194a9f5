import { describe, expect, it } from 'vitest';
import { sharedPage } from '../../../src/observability/pages.ts';

describe('a shared page', () => {
  it('is rendered once a second, however many requests arrive', async () => {
    let now = 0;
    let rendered = 0;
    const page = sharedPage(
      () => Promise.resolve({ status: 200, body: String(++rendered) }),
      () => now,
    );
    const bodies = async (): Promise<string[]> =>
      (await Promise.all(Array.from({ length: 100 }, page))).map(({ body }) => body);
    expect(new Set(await bodies())).toEqual(new Set(['1']));
    now = 999;
    expect(new Set(await bodies())).toEqual(new Set(['1']));
    now = 1_000;
    expect(new Set(await bodies())).toEqual(new Set(['2']));
  });

  it('is rendered again one second after a failure', async () => {
    let now = 0;
    let fails = true;
    const render = () => (fails ? Promise.reject(new Error('fails')) : Promise.resolve({ status: 200, body: 'ok' }));
    const page = sharedPage(render, () => now);
    await expect(page()).rejects.toThrow('fails');
    fails = false;
    await expect(page()).rejects.toThrow('fails');
    now = 1_000;
    expect(await page()).toMatchObject({ body: 'ok' });
  });
});
