/** What the program says about calls that it refuses, and what the API server adds to its answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { codeOf } from '../../../src/plugin/terminal/failure.ts';
import { createProgram } from '../../../src/plugin/program/program.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';

/** Runs `kubectl vps WORDS`; `said`: on standard error. */
async function run(...words: string[]): Promise<{ code: number; said: string }> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const terminal = { out, err, input: new PassThrough().end(), paint: {} } as unknown as Terminal;
  const program = createProgram({ terminal, version: '0', exitWith: () => undefined });
  const code = await program.parseAsync(words, { from: 'user' }).then(
    () => 0,
    (error: unknown) => codeOf(error, terminal),
  );
  return { code, said: String((err.read() as Buffer | null) ?? '') };
}

/** A kubeconfig for an API server that answers so. */
async function kubeconfig(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'plugin-'));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'config');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const context = { cluster: 'test', user: 'test' };
  const config = {
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context }],
    'current-context': 'test',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const NEW = ['new', 'web', '--product=VPSX4', '--image=i', '--disk-size=1', `--ssh-key=${SSH_KEY}`];

it('repeats each warning of the API server once, as kubectl does', async () => {
  const file = await kubeconfig(({ method }, response) => {
    if (method === 'POST')
      response.setHeader('warning', [
        '299 - "expiresAt is in the \\"past\\""',
        '299 - "other, too", 299 - "other, too"',
      ]);
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  const { code, said } = await run(...NEW, '--apply', '--kubeconfig', file);
  expect(code).toBe(0);
  expect(said.split('\n').filter((line) => line.startsWith('Warning'))).toEqual([
    'Warning: expiresAt is in the "past"',
    'Warning: other, too',
  ]);
});

it.each([
  [['help', 'nosuch'], 'unknown command "nosuch"'],
  [['help', 'statsu'], 'did you mean kubectl vps status?'],
  [['scale', 'pool'], 'did you mean kubectl scale vpsset/NAME --replicas=NUMBER\\?'],
  [['constructor'], 'unknown command "constructor"\\n  kubectl vps --help'],
  [['status', '--outptu', 'json'], "unknown option '--outptu'\\n {2}did you mean --output\\?\\n$"],
  [['rollout', 'staus', 'pool'], "unknown command 'staus'\\n {2}did you mean status\\?\\n$"],
  [['version'], 'did you mean kubectl vps --version\\?'],
  [['restart', 'web'], 'did you mean kubectl vps reboot\\?'],
  [[...NEW, '--disk-size', '10GB'], 'Use a size that kubectl vps catalog lists: a whole number without a unit\\.'],
  [['extend', 'web', '--expires-at', 'noon'], 'Must be a time such as 2027-01-31T18:00:00Z\\.'],
  [['undelete', 'web', '--at', 'noon'], "unknown option '--at'\n$"],
  [
    [...NEW, '--deletion-policy', 'Keep'],
    "unknown option '--deletion-policy'\n\\(--retain sets spec.deletionPolicy\\)\n$",
  ],
  [[...NEW, '--product-code', 'x'], "unknown option '--product-code'"],
  [[...NEW, '--label', 'a=b=c'], 'A label is KEY=VALUE, and its value has at most 63 letters'],
  [[...NEW, '--ttl', '3x'], 'Use a duration above 0, such as 72h, 4d or 1h30m\\.'],
  [
    ['new', 'a'.repeat(300), ...NEW.slice(2)],
    'name "aaaaaaaaaaaaaaaaaaaa...": it has 300 characters, and 253 is the maximum',
  ],
  [['plan', 'shop.yaml'], 'kubectl vps plan.* -f shop.yaml'],
])('explains what is wrong with %j', async (words, says) => {
  const file = await kubeconfig((_request, response) => response.writeHead(500).end());
  const { code, said } = await run(...words, '--kubeconfig', file);
  expect([code, said]).toEqual([2, expect.stringMatching(new RegExp(says))]);
});

it('shows the help of a command, and of all if none is named', async () => {
  expect(await run('help', 'status')).toEqual({ code: 0, said: '' });
  expect(await run('help')).toEqual({ code: 0, said: '' });
});
