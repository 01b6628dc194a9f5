import { describe, expect, it } from 'vitest';
import { userDataProblem, userDataWarnings } from '../../../src/api/user-data.ts';

describe('user data', () => {
  it.each([
    '#cloud-config\nhostname: web\n',
    '\n#!/bin/sh\n',
    '## template: jinja\n#cloud-config\n',
    '#include\nhttps://example.com\n',
    'Content-Type: multipart/mixed; boundary="b"\n',
    'MIME-Version: 1.0\n',
    '{"ignition":{"version":"3.4.0"}}',
  ])('has a form that some system reads: %j', (text) => {
    expect(userDataWarnings(text)).toEqual([]);
    expect(userDataProblem(text)).toBeUndefined();
  });

  it.each([
    ['packages: [nginx]\n', 'no line that cloud-init knows'],
    ['#!/bin/sh\r\necho\r\n', 'CRLF'],
  ])('is probably not what is meant: %j', (text, words) => {
    expect(userDataWarnings(text)).toEqual([expect.stringContaining(words)]);
    expect(userDataProblem(text)).toBeUndefined();
  });

  it('is certainly broken by a byte order mark', () => {
    expect(userDataProblem('\u{feff}#cloud-config\n')).toContain('byte order mark');
  });
});
