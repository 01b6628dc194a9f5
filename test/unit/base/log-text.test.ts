import { describe, expect, it } from 'vitest';
import { createLogger, type Logger } from '../../../src/base/logger.ts';
import { logText, STEPS } from '../../../src/base/log-text.ts';
import type { Operation } from '../../../src/virtual-server/decision/types.ts';

const TIME = '2026-11-20T21:52:31.104Z';
const STEP = {
  level: 'info',
  time: TIME,
  controller: 'virtualserver',
  reconcileID: 'c0ffee',
  namespace: 'team',
  name: 'web',
  uid: '1b4e28ba',
  resourceVersion: '7',
  step: 'follow',
  reason: 'Creating',
  attempt: '4da4a1110d3d747e',
  task: 1001,
  durationMs: 5.2,
  msg: 'step done',
};

function logged(write: (logger: Logger) => void): string[] {
  const lines: string[] = [];
  write(createLogger({ level: 'info', format: 'text', destination: { write: (line) => void lines.push(line) } }));
  return lines;
}

describe('the log as text', () => {
  it.each<[string, object, string]>([
    [
      'what a step did',
      STEP,
      '2026-11-20T21:52:31Z team/web is Creating after polling its task (attempt 4da4a1110d3d747e, task 1001, 5.2 ms)',
    ],
    [
      'why a step failed, and its level',
      {
        ...STEP,
        level: 'warn',
        step: 'order',
        task: undefined,
        attempt: undefined,
        code: 'ServerError',
        error: 'HTTP 503',
      },
      '2026-11-20T21:52:31Z WARN team/web is Creating: trying to order a server failed: HTTP 503 (ServerError) (5.2 ms)',
    ],
    [
      'the first step of an object, which has no conditions yet',
      { ...STEP, step: 'claim', reason: undefined, task: undefined, durationMs: 1 },
      '2026-11-20T21:52:31Z team/web has no conditions yet after claiming an order (attempt 4da4a1110d3d747e, 1 ms)',
    ],
    [
      'the end of an object, without the state before, and without a word that means a server that runs on',
      {
        ...STEP,
        step: 'release',
        reason: 'Available',
        task: undefined,
        attempt: undefined,
        events: ['ServerCancelled'],
      },
      '2026-11-20T21:52:31Z team/web no longer has a finalizer of the operator (events ServerCancelled, 5.2 ms)',
    ],
    [
      'that a request is sent',
      {
        level: 'info',
        time: TIME,
        namespace: 'team',
        name: 'web',
        uid: 'u',
        request: 'cancel',
        identifier: 'srv1',
        msg: 'sending the cancellation',
      },
      '2026-11-20T21:52:31Z team/web: sending the cancellation (identifier srv1)',
    ],
    [
      'a step that the formatter does not know',
      { ...STEP, step: 'dance', attempt: undefined, task: undefined, durationMs: undefined },
      '2026-11-20T21:52:31Z team/web is Creating after the step dance',
    ],
    [
      'what a set did',
      { level: 'info', time: TIME, set: 'team/web', action: 'create', member: 'web-0', msg: 'set acted on a member' },
      '2026-11-20T21:52:31Z set team/web: set acted on a member (action create, member web-0)',
    ],
    [
      'an error with its causes, without stacks',
      {
        ...{
          level: 'error',
          time: TIME,
          controller: 'servercatalog',
          key: 'team/all',
          uid: 'u',
          msg: 'reconcile failed',
        },
        err: { name: 'E', message: 'no answer', stack: 'at x', cause: { code: 'ECONNRESET', message: 'read' } },
      },
      '2026-11-20T21:52:31Z ERROR servercatalog team/all: reconcile failed: no answer: read (ECONNRESET)',
    ],
    [
      'a line about no object, with lists and without empty fields',
      { level: 'info', time: TIME, version: '1.2.3', watchNamespaces: [], pages: ['/livez', '/readyz'], msg: 'starts' },
      '2026-11-20T21:52:31Z starts (version 1.2.3, pages /livez /readyz)',
    ],
  ])('says %s', (_what, line, sentence) => {
    expect(logText(line as Record<string, unknown>)).toBe(sentence);
  });

  it('has words for every step', () => {
    const words: Readonly<Partial<Record<string, string>>> = STEPS;
    const steps: Record<Operation['type'] | 'claim', true> = {
      ...{
        claim: true,
        order: true,
        repeat: true,
        adopt: true,
        takeOver: true,
        handOver: true,
        follow: true,
        look: true,
        power: true,
        change: true,
        cancel: true,
      },
      ...{ expire: true, release: true, record: true, wait: true, park: true },
    };
    expect(Object.keys(words).sort()).toEqual(Object.keys(steps).sort());
  });

  it('masks what JSON masks', () => {
    const error = Object.assign(new Error('no answer'), { headers: 'pa55' });
    const [first = '', second = ''] = logged((logger) => {
      logger.info({ token: 'pa55', deep: { password: 'pa55' } }, 'm');
      logger.child({ secret: 'pa55' }).warn({ err: error }, 'm');
    });
    expect(first).toMatch(/^\S+Z m \(token \[Redacted\], deep \{"password":"\[Redacted\]"\}\)\n$/);
    expect(second).toMatch(/^\S+Z WARN m: no answer \(secret \[Redacted\]\)\n$/);
  });

  it('stays on one line, without terminal control characters', () => {
    const hostile = 'a\r\nb\u001b[2J\u009b2J\u202e\u2066c';
    const [line = '', ...others] = logged((logger) =>
      logger.info({ namespace: hostile, name: hostile, [hostile]: hostile, err: new Error(hostile) }, hostile),
    );
    expect(others).toEqual([]);
    expect(line).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
  });
});
