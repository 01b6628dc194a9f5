/**
 * The kubectl plugin as users run it: the bundle, found by kubectl on PATH under both of its names, also on a terminal.
 * Where the process does not matter, its program runs in this process, which saves a third of a second some hundred
 * times.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, inject, onTestFinished, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { codeOf as exitCodeOf, EXIT } from '../../../src/plugin/terminal/failure.ts';
import { createProgram } from '../../../src/plugin/program/program.ts';
import { paintFor, type Terminal } from '../../../src/plugin/terminal/terminal.ts';
import { reportSkipped } from '../../../tools/skipped.ts';
import { ask } from './broker.ts';
import type { Programs } from './programs.ts';

export interface Result {
  /** 128 or more after a signal, as in a shell. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface Session {
  /** All output of the terminal so far. */
  text(): string;
  /** Resolves when the output matches; rejects with the whole output on timeout. */
  shows(pattern: RegExp): Promise<void>;
  type(keys: string): void;
  /** Resolves with the exit code. */
  ended: Promise<number>;
}

export interface Plugin {
  /** Runs `kubectl WORD...` with `kubeconfig`, without a terminal; `kubectl vps`, except ssh, runs in this process. */
  kubectl(words: string[], env?: Record<string, string>): Promise<Result>;
  /** Runs a shell command, such as one that the plugin has printed; if it is one call of the plugin, as `kubectl` does. */
  shell(line: string): Promise<Result>;
  /** Runs a shell command on a terminal of 160 columns. */
  terminal(line: string): Session;
}

/** A kubectl call takes a second or two, and ten on a busy machine, and a test makes a hundred; these are only upper bounds. */
const WAIT_MS = 60_000;
const TEST_MS = 600_000;
const POLL_MS = 20;
/** Part of bsdutils, which every Debian has. The script command of macOS cannot use a pipe as its terminal. */
const SCRIPT = '/usr/bin/script';

/** One call of the plugin, of words that mean the same to any shell. */
const CALL = /^kubectl[ -]vps(?: +(?:'[^']*'|[\w@%+=:,./-])+)+$/;
const WORD = /(?:'[^']*'|[^ '])+/g;

/** The words of the call; undefined for any other line. */
function callIn(line: string): string[] | undefined {
  if (!CALL.test(line.trim())) return undefined;
  const words =
    line
      .trim()
      .replace(/^kubectl[ -]vps/, '')
      .match(WORD) ?? [];
  return words.map((word) => word.replaceAll("'", ''));
}

/** Why tests cannot use a terminal; undefined if they can. */
export const noTerminal: string | undefined = await access(SCRIPT).then(
  () => (process.platform === 'linux' ? undefined : 'script(1) of this system needs a real terminal'),
  () => `there is no ${SCRIPT} (package bsdutils)`,
);
if (noTerminal !== undefined) reportSkipped('the tests on a terminal', noTerminal);

/** The folder with both names of the plugin. */
export function usePlugin(): () => string {
  vi.setConfig({ testTimeout: TEST_MS, hookTimeout: TEST_MS });
  let folder = '';
  beforeAll(async () => {
    ({ folder } = await ask<Programs>(inject('broker'), 'programs'));
  });
  return () => folder;
}

/** For one test; `kubeconfig` defaults to an administrator's, and gets this namespace. */
export async function createPlugin(folder: string, namespace: string, kubeconfig?: string): Promise<Plugin> {
  const home = await mkdtemp(join(tmpdir(), 'vps-operator-home-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const config = parse(await readFile(kubeconfig ?? inject('kubeconfigPath'), 'utf8')) as {
    contexts: { context: { namespace?: string } }[];
  };
  for (const { context } of config.contexts) context.namespace = namespace;
  const file = join(home, 'kubeconfig');
  await writeFile(file, stringify(config), { mode: 0o600 });
  const PATH = [folder, dirname(process.execPath), process.env.PATH ?? ''].join(':');
  const env = { PATH, HOME: home, KUBECONFIG: file, LANG: 'C.UTF-8', NODE_COMPILE_CACHE: join(folder, 'compiled') };

  const run = async (program: string, words: string[], more: Record<string, string> = {}): Promise<Result> => {
    const child = spawn(program, words, { cwd: home, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const code = await codeOf(child);
    return { code, stdout: stdout(), stderr: stderr() };
  };
  const cwd = process.cwd();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    process.chdir(cwd);
  });
  const runHere = (words: string[], more: Record<string, string> = {}): Promise<Result> => {
    for (const [name, value] of Object.entries({ ...env, ...more })) vi.stubEnv(name, value);
    process.chdir(home);
    return runProgram(words);
  };
  // ssh writes to the output of its process.
  const runsHere = ([command = '']: readonly string[]): boolean => !['ssh', 'scp'].includes(command);
  return {
    kubectl: ([name = '', ...words], more) =>
      name === 'vps' && runsHere(words) ? runHere(words, more) : run('kubectl', [name, ...words], more),
    shell: (line) => {
      const words = callIn(line);
      return words !== undefined && runsHere(words) ? runHere(words) : run('sh', ['-c', line]);
    },
    terminal: (line) => startTerminal(line, { cwd: home, env }),
  };
}

/** Does what src/plugin/main.ts does, without a terminal. */
async function runProgram(words: string[]): Promise<Result> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const [stdout, stderr] = [collect(out), collect(err)];
  const input = new PassThrough().end();
  const terminal = { out, err, input, paint: paintFor(out as never) } as unknown as Terminal;
  let code: number = EXIT.ok;
  const exitWith = (other: number): void => void (code = other);
  const program = createProgram({ terminal, version: '0.0.0', exitWith });
  await program.parseAsync(words, { from: 'user' }).catch((error: unknown) => exitWith(exitCodeOf(error, terminal)));
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Runs a shell command on a terminal of 160 columns. `limitMs`: how long it may run, and may take to show something. */
export function startTerminal(
  line: string,
  { cwd, env, limitMs = WAIT_MS }: { cwd: string; env: NodeJS.ProcessEnv; limitMs?: number },
): Session {
  const child = spawn(SCRIPT, ['-qefc', `stty cols 160 rows 40; ${line}`, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const text = collect(child.stdout);
  return {
    text,
    shows: (pattern) =>
      until(
        () => pattern.test(text()),
        () => `${pattern} in ${JSON.stringify(text())}`,
        limitMs,
      ),
    type: (keys) => void child.stdin.write(keys),
    ended: codeOf(child, limitMs),
  };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

async function codeOf(child: ChildProcess, limitMs = WAIT_MS): Promise<number> {
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  return code ?? (signal === 'SIGINT' ? 130 : 137);
}

async function until(condition: () => boolean, what: () => string, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
