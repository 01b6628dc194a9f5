/** Commands that ask find the mistakes that they can find before they ask. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { createProgram } from '../../../src/plugin/program/program.ts';
import { codeOf } from '../../../src/plugin/terminal/failure.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { apiServer, runProgram, terminalOf } from './support.ts';

const SECRETS = new Set(['vps-api-key', 'used']);

/** A cluster with the servers `web` and `db`, of which `db` uses the key in the Secret `used`. */
const objects = new Map<string, object>(
  [
    withReady(virtualServer('web', withSpec({ apiKeySecretRef: { name: 'vps-api-key' } }))),
    withReady(virtualServer('db', withSpec({ apiKeySecretRef: { name: 'used' } }))),
  ].map((object) => [object.metadata.name, object]),
);

function withReady(object: ReturnType<typeof virtualServer>): ReturnType<typeof virtualServer> & { status: object } {
  const condition = { type: 'Ready', status: 'True', reason: 'Available', message: '', observedGeneration: 1 };
  const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: '1', generation: 1 };
  return { ...object, metadata: { ...metadata, namespace: 'default' }, status: { conditions: [condition] } } as never;
}

const cluster = () =>
  apiServer(({ method, url }) => {
    const path = new URL(url ?? '', 'http://x').pathname;
    const name = path.split('/').at(-1) ?? '';
    if (/\/(virtualservers|virtualserversets|servercatalogs)$/.test(path))
      return { items: path.endsWith('/virtualservers') ? [...objects.values()] : [] };
    if (path.includes('/secrets/') && SECRETS.has(name)) return { metadata: { name, resourceVersion: '1' } };
    if (path.includes('/virtualservers/') && method === 'GET') return objects.get(name);
    return undefined;
  });

const folder = mkdtempSync(join(tmpdir(), 'asking-'));
const set = join(folder, 'set.yaml');
writeFileSync(
  set,
  '{"apiVersion": "vps-operator.dev/v1alpha1", "kind": "VirtualServerSet", "metadata": {"name": "pool"}}',
);
const NO_NOPE = 'no VirtualServer "nope" in namespace "default"';

/** The exit code, and what is said; `input`: on standard input. */
const MISTAKES: readonly { words: string[]; says: string; code: number; input?: string }[] = [
  { words: ['cancel', 'nope'], says: NO_NOPE, code: 3 },
  { words: ['suspend', 'nope'], says: NO_NOPE, code: 3 },
  { words: ['replace', 'nope'], says: NO_NOPE, code: 3 },
  { words: ['replace', 'web', '-f', set], says: 'contains no VirtualServer, only VirtualServerSet', code: 2 },
  { words: ['replace', 'web', '--name', 'db'], says: 'there is already a VirtualServer db', code: 1 },
  { words: ['replace', 'web', '--expires-at', '2020-01-01T00:00:00Z'], says: 'expired at 2020', code: 2 },
  { words: ['adopt', 'nope', 'vs1'], says: NO_NOPE, code: 3 },
  { words: ['adopt', '-f', '/nope'], says: 'cannot read --filename /nope', code: 2 },
  { words: ['start-over', '-f', '/nope'], says: 'cannot read --filename /nope', code: 2 },
  { words: ['resolve', 'nope', '--gone'], says: NO_NOPE, code: 3 },
  { words: ['resolve', 'web', '--not-created'], says: 'nothing to resolve: web is Available', code: 1 },
  { words: ['logout', '--secret', 'nope'], says: 'there is no Secret nope', code: 3 },
  { words: ['logout', '--secret', 'used'], says: 'db uses Secret used', code: 1 },
  { words: ['login', '--yes'], input: 'only-one-line\n', says: 'does not have the key ID and the secret', code: 2 },
];

it.each(MISTAKES)('$words names the mistake rather than --yes', async ({ words, says, code, input = '' }) => {
  const { file, requests } = await cluster();
  const ended = await runProgram([...words, '--kubeconfig', file], input);
  expect([ended.code, ended.said]).toEqual([code, expect.stringContaining(says)]);
  expect(ended.said).not.toContain('--yes');
  expect(requests.filter(({ method, url }) => method !== 'GET' && !(url ?? '').includes('dryRun=All'))).toEqual([]);
});

it.each([
  { words: ['cancel', 'web'] },
  { words: ['suspend', 'web'] },
  { words: ['replace', 'web'] },
  { words: ['adopt', 'web', 'vs1'] },
  { words: ['logout'], without: 'web' },
  { words: ['login'], input: 'id\nsecret\n' },
])(
  '$words asks for --yes without a terminal if nothing is wrong, and changes nothing',
  async ({ words, without, input = '' }) => {
    const web = objects.get('web');
    if (without !== undefined) objects.delete(without);
    onTestFinished(() => void objects.set('web', web ?? {}));
    const { file, requests } = await cluster();
    const ended = await runProgram([...words, '--kubeconfig', file], input);
    expect([ended.code, ended.said]).toEqual([2, expect.stringContaining('not a terminal: pass --yes to confirm')]);
    expect(requests.filter(({ method, url }) => method !== 'GET' && !(url ?? '').includes('dryRun=All'))).toEqual([]);
  },
);

it.each([{ words: ['login'] }, { words: ['replace', 'web', '-f', '-'] }])(
  '$words asks for --yes before it reads standard input, which may stay open without end',
  async ({ words }) => {
    const { file } = await cluster();
    const { terminal, err } = terminalOf();
    const input = new PassThrough();
    const open = { ...terminal, input } as unknown as Terminal;
    const program = createProgram({ terminal: open, version: '0', exitWith: () => undefined });
    const ended = program.parseAsync([...words, '--kubeconfig', file], { from: 'user' });
    expect(await ended.catch((error: unknown) => codeOf(error, open))).toBe(2);
    expect(String(err.read())).toContain('not a terminal: pass --yes to confirm');
    expect(input.readableFlowing).toBeNull();
  },
);

it('covers each command that asks', () => {
  const { commands } = createProgram({ terminal: terminalOf().terminal, version: '0', exitWith: () => undefined });
  const asking = commands
    .filter(({ options }) => options.some(({ long }) => long === '--yes'))
    .map((each) => each.name());
  expect(asking.filter((name) => !MISTAKES.some(({ words }) => words[0] === name))).toEqual([]);
  rmSync(folder, { recursive: true });
});
