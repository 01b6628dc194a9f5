/** When a read of the API server that fails is reported, and in which words. */
import { describe, expect, it } from 'vitest';
import { KubeError, type KubeErrorCode } from '../../../src/kube/error.ts';
import { FailingReads, isUnreadable, remedyOf } from '../../../src/kube/failing-reads.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const BROKEN = new KubeError('ServerError', 'Internal error occurred: unable to transform key', { status: 500 });

function setUp() {
  const timers = new FakeTimers();
  const reads = new FailingReads(timers);
  const read = (answer: KubeError | string, name = 'Secret default/key'): Promise<unknown> =>
    reads.read(name, () => (answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer)));
  const failed = (answer: KubeError | string, name?: string): Promise<unknown> =>
    read(answer, name).catch((error: unknown) => error);
  return { timers, read, failed };
}

describe('a read that the API server answers with an error', () => {
  it('is reported after ten seconds, with what the API server says and since when', async () => {
    const { timers, failed } = setUp();
    expect(await failed(BROKEN)).toBe(BROKEN);
    timers.advance(9_999);
    expect(isUnreadable(await failed(BROKEN))).toBe(false);
    timers.advance(1);
    const error = await failed(BROKEN);
    expect(error).toMatchObject({
      code: 'ServerError',
      status: 500,
      message:
        'Internal error occurred: unable to transform key. The API server answers 500 since 2026-01-01T00:00:00Z.',
    });
    if (!isUnreadable(error)) throw new Error('it is not reported');
    expect(remedyOf(error, 'Grant it')).toBe(
      'Repair the API server or what it stores; the operator retries automatically',
    );
  });

  it('starts over after a success, and for each name', async () => {
    const { timers, read, failed } = setUp();
    await failed(BROKEN);
    timers.advance(60_000);
    expect(await read('data')).toBe('data');
    expect(isUnreadable(await failed(BROKEN))).toBe(false);
    timers.advance(60_000);
    expect(isUnreadable(await failed(BROKEN, 'Secret default/other'))).toBe(false);
    expect(isUnreadable(await failed(BROKEN))).toBe(true);
  });

  it('starts over if nothing has needed it for a long time', async () => {
    const { timers, failed } = setUp();
    // The object that needed the read was deleted after the first failure.
    await failed(BROKEN);
    timers.advance(15 * 60_000);
    expect(isUnreadable(await failed(BROKEN))).toBe(false);
    timers.advance(15 * 60_000 - 1);
    expect(isUnreadable(await failed(BROKEN))).toBe(true);
    timers.advance(15 * 60_000 - 1);
    expect(await failed(BROKEN)).toMatchObject({
      message: expect.stringContaining('since 2026-01-01T00:15:00Z') as string,
    });
  });

  it('is reported however many others fail', async () => {
    const { timers, failed } = setUp();
    const names = Array.from({ length: 20_000 }, (_, index) => `Secret default/key-${index}`);
    for (const name of names) await failed(BROKEN, name);
    timers.advance(10_000);
    for (const name of names) expect(isUnreadable(await failed(BROKEN, name))).toBe(true);
  });

  it.each<[KubeErrorCode, number | undefined, boolean]>([
    ['Forbidden', 403, true],
    ['TooManyRequests', 429, false],
    ['Unreachable', undefined, false],
    ['NotFound', 404, false],
  ])('%s is reported at once: %s', async (code, status, isAtOnce) => {
    const { timers, failed } = setUp();
    const answer = new KubeError(code, 'no', { status });
    expect(isUnreadable(await failed(answer))).toBe(isAtOnce);
    timers.advance(60_000);
    expect(isUnreadable(await failed(answer))).toBe(isAtOnce);
  });
});
