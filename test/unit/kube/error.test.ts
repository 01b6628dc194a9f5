import { describe, expect, it } from 'vitest';
import { errorOfAnswer, isAbsence, KubeError, networkError } from '../../../src/kube/error.ts';

const status = (fields: object) => JSON.stringify({ kind: 'Status', ...fields });

describe('errorOfAnswer', () => {
  it("contains the API server's message", () => {
    const error = errorOfAnswer(409, status({ message: 'modified', reason: 'Conflict' }), undefined);
    expect(error).toMatchObject({ code: 'Conflict', status: 409, reason: 'Conflict', message: 'modified' });
  });

  it('limits the length of a message from a proxy', () => {
    expect(errorOfAnswer(502, 'x'.repeat(5000), undefined).message).toHaveLength(200);
    expect(errorOfAnswer(502, '', undefined).message).toBe('HTTP status 502');
    const long = `VirtualServer ${'x'.repeat(5000)}: strict decoding error: unknown field "spec.prodct"`;
    const { message } = new KubeError('Invalid', long);
    expect(message.length).toBeLessThanOrEqual(1024);
    expect(message).toMatch(/^VirtualServer x+ \.\.\. x+: strict decoding error: unknown field "spec\.prodct"$/);
  });

  it('reads the retry delay from the header or the body, and ignores invalid values', () => {
    expect(errorOfAnswer(429, '', '3').retryAfterMs).toBe(3000);
    expect(errorOfAnswer(429, status({ details: { retryAfterSeconds: 2 } }), undefined).retryAfterMs).toBe(2000);
    expect(errorOfAnswer(429, '', 'soon').retryAfterMs).toBeUndefined();
    expect(errorOfAnswer(429, '', undefined).retryAfterMs).toBeUndefined();
  });
});

describe('isAbsence', () => {
  const absent = status({ reason: 'NotFound', details: { name: 'a' } });

  it('is true only for a 404 that names the object', () => {
    expect(isAbsence(404, absent, 'a')).toBe(true);
    expect(isAbsence(404, absent, 'b')).toBe(false);
    expect(isAbsence(403, absent, 'a')).toBe(false);
    expect(isAbsence(404, status({ reason: 'NotFound' }), 'a')).toBe(false);
    expect(isAbsence(404, '404 page not found', 'a')).toBe(false);
    expect(isAbsence(404, 'null', 'a')).toBe(false);
  });
});

describe('networkError', () => {
  it('is Unreachable and names the request', () => {
    const error = networkError('GET /x', new Error('connect ECONNREFUSED'));
    expect(error).toMatchObject({ code: 'Unreachable', message: 'GET /x: connect ECONNREFUSED', status: undefined });
  });
});
