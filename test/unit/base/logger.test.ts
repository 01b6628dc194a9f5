import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLogger, serializeError, type Logger } from '../../../src/base/logger.ts';

function logged(write: (logger: Logger) => void, level: 'info' | 'debug' = 'info'): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLogger({ level, destination: { write: (line) => void lines.push(line) } }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the logger', () => {
  it('writes level, time, fields and message, but not process and host', () => {
    const [line] = logged((logger) => logger.info({ namespace: 'default' }, 'Ready'));
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      namespace: 'default',
      msg: 'Ready',
    });
  });

  it('omits lines below its level', () => {
    const write = (logger: Logger): void => {
      logger.trace('t');
      logger.debug('d');
      logger.warn('w');
    };
    expect(logged(write).map((line) => line['level'])).toEqual(['warn']);
    expect(logged(write, 'debug').map((line) => line['level'])).toEqual(['debug', 'warn']);
  });

  it.each([
    'secret',
    'token',
    'access_token',
    'accessToken',
    'authorization',
    'Authorization',
    'password',
    'ssh_keys',
    'sshKeys',
  ])('masks the value of %s in the first four levels and in the fields of a child', (key) => {
    const lines = logged((logger) => {
      const value = { [key]: 'pa55' };
      logger.info({ ...value, a: { ...value, b: { ...value, c: value } }, list: [value] }, 'm');
      logger.child({ ...value, a: value }).info('m');
      logger.child({ object: 'x' }).child(value).info(value, 'm');
      logger.info({ [key]: ['pa55'] }, 'm');
    });
    expect(lines).toHaveLength(4);
    expect(JSON.stringify(lines)).not.toContain('pa55');
    expect(lines[0]).toMatchObject({ a: { [key]: '[Redacted]' } });
  });

  it('writes one line with the same data, without terminal control characters', () => {
    const hostile = 'a\r\nb\u0007\u001b[2J\u007f\u009b2J\u00ad\u061c\u200b\u2028\u2029\u202e\u2066\ufeffb😀';
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } });
    logger.child({ [hostile]: hostile }).info({ err: new Error(hostile) }, hostile);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ [hostile]: hostile, err: { message: hostile }, msg: hostile });
  });

  it('does not modify the logged values', () => {
    const fields = { a: { secret: 'pa55' } };
    logged((logger) => logger.info(fields, 'm'));
    expect(fields).toEqual({ a: { secret: 'pa55' } });
  });

  it('writes every other field unchanged', () => {
    const fields = { task: 7, paused: false, list: [1, { a: 'b' }], deep: { er: { and: { more: { than: 'four' } } } } };
    const [line] = logged((logger) => logger.info({ ...fields, at: new Date(0), none: null, left: undefined }, 'm'));
    expect(line).toMatchObject({ ...fields, at: '1970-01-01T00:00:00.000Z', none: null });
    expect(line).not.toHaveProperty('left');
  });

  it.each(['err', 'error', 'reason'])('writes the error itself under %s, without its extra properties', (key) => {
    const request = { headers: { 'x-api-key': 'pa55' } };
    const cause = Object.assign(new TypeError('fetch failed'), { code: 'ECONNRESET', request });
    const error = Object.assign(new Error('no answer', { cause }), { request });
    const [line] = logged((logger) => logger.error({ [key]: error }, 'm'));
    expect(line?.[key]).toEqual({
      name: 'Error',
      message: 'no answer',
      stack: error.stack,
      cause: { name: 'TypeError', code: 'ECONNRESET', message: 'fetch failed', stack: cause.stack },
    });
  });

  it('writes an error in nested fields or in a child the same way', () => {
    const error = Object.assign(new Error('no answer'), { request: 'pa55' });
    const lines = logged((logger) => logger.child({ err: error }).warn({ details: { err: error, all: [error] } }, 'm'));
    const written = { name: 'Error', message: 'no answer', stack: error.stack };
    expect(lines).toMatchObject([{ err: written, details: { err: written, all: [written] } }]);
    expect(JSON.stringify(lines)).not.toContain('pa55');
  });

  it('writes only safe parts of a value under err that is not an error', () => {
    const [line] = logged((logger) => logger.error({ err: { headers: 'pa55' } }, 'm'));
    expect(line?.['err']).toEqual({ name: 'NotAnError', message: 'object' });
  });

  it('writes an error passed as the only argument the same way', () => {
    const error = Object.assign(new Error('no answer'), { request: 'pa55' });
    const [line] = logged((logger) => logger.error(error));
    expect(line).toMatchObject({ msg: 'no answer', err: { name: 'Error', message: 'no answer', stack: error.stack } });
    expect(JSON.stringify(line)).not.toContain('pa55');
  });

  it('writes every line to stdout even if the process ends right after the call', () => {
    const source = join(import.meta.dirname, '../../../src/base/logger.ts');
    const script = `
      import { createLogger } from ${JSON.stringify(source)};
      const logger = createLogger({ level: 'info' });
      for (let line = 0; line < 1000; line++) logger.info({ line }, 'x'.repeat(200));
      process.kill(process.pid, 'SIGKILL');`;
    const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(signal).toBe('SIGKILL');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1000);
  });
});

describe('serializeError', () => {
  it('terminates on circular causes', () => {
    const error = new Error('a');
    error.cause = error;
    const depth = (value: { cause?: unknown }): number => (value.cause ? 1 + depth(value.cause) : 0);
    expect(depth(serializeError(error))).toBe(5);
  });

  it.each([
    ['text', 'text'],
    [{ authorization: 'pa55' }, 'object'],
    [undefined, 'undefined'],
  ])('writes only safe parts of %j, which was thrown but is not an error', (thrown, message) => {
    expect(serializeError(thrown)).toEqual({ name: 'NotAnError', message });
  });
});
