/**
 * Runs what a document tells users to do: its `yaml` blocks are files, into which an SSH key is pasted, its `sh` blocks
 * commands; other blocks are skipped.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { withOwnKey } from '../../../tools/demo/manifests.ts';

const ROOT = join(import.meta.dirname, '../../..');
const COMMAND_MS = 60_000;

export interface Block {
  language: string;
  text: string;
}

/** The fenced blocks below a second-level heading, up to the next one. */
export function blocksOf(document: string, heading: string): Block[] {
  const section = document.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`the document has no section "${heading}"`);
  return [...section.matchAll(/^( *)```(\w+)\n(.*?)^ *```$/gms)].map(([, indent = '', language = '', text = '']) => ({
    language,
    text: text.replaceAll(RegExp(`^${indent}`, 'gm'), ''),
  }));
}

export const executable = ({ language }: Block): boolean => language === 'yaml' || language === 'sh';

/** The commands after the prompts of a block, each with the output shown below it. */
export function typedIn({ text }: Block): { command: string; shown: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = ''] = /^(?:.*\\\n)*.*\n/.exec(part) ?? [];
      return { command: command.trimEnd(), shown: part.slice(command.length) };
    });
}

/** A pattern for output in a document: a line of `...` matches any lines, a trailing `...` the rest of a line. */
export function patternOf(text: string): RegExp {
  const lines = steady(text)
    .split(/(?<=\n)/)
    .map((line) => {
      if (line === '...\n') return '(?:.*\\n)*?';
      const literal = line.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
      return literal.replace(/(\\\.){3}\n$/, '.*\n');
    });
  return new RegExp(`^${lines.join('')}`, 'm');
}

/** Normalizes what differs between runs: times, ages, attempts, and their column widths. */
export function steady(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\b(?:\d+[smhdy])+\b/g, 'AGE')
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'ATTEMPT')
    .replaceAll(/ +(?=AGE)/g, ' ');
}

interface Reader {
  kubeconfigPath: string;
  kubectl: string;
  /** kubectl's default namespace. */
  namespace: string;
  /** Text in the document, and its replacement. */
  replace?: Record<string, string>;
  /** Further folders of programs. */
  path?: string[];
  env?: Record<string, string>;
}

export interface Shell {
  /** Rejects if a command fails. Resolves with its output. */
  run(block: Block): Promise<string>;
}

/** Creates a folder with deploy/, with kubectl in PATH, and with an `ssh` that only prints its arguments. */
export async function createShell(reader: Reader): Promise<Shell> {
  const { kubeconfigPath, kubectl, namespace, replace = {}, path = [] } = reader;
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-document-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(join(ROOT, 'deploy'), join(folder, 'deploy'));
  await writeFile(join(folder, 'ssh'), '#!/bin/sh\necho "ssh was called with: $*"\n');
  await chmod(join(folder, 'ssh'), 0o755);
  const config = parse(await readFile(kubeconfigPath, 'utf8')) as { contexts: { context: { namespace?: string } }[] };
  for (const { context } of config.contexts) context.namespace = namespace;
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  const folders = [folder, dirname(kubectl), ...path, process.env.PATH ?? ''];
  const env = { ...reader.env, KUBECONFIG: kubeconfig, PATH: folders.join(':') };
  return {
    async run({ language, text }) {
      if (language === 'yaml') {
        const file = /^# (\S+\.yaml)\n/.exec(text)?.[1];
        if (file === undefined) throw new Error('a yaml block of a document must begin with the name of its file');
        await writeFile(join(folder, file), withOwnKey(text));
        return '';
      }
      const command = Object.entries(replace).reduce((now, [from, to]) => now.replaceAll(from, to), text);
      const options = { cwd: folder, env, timeout: COMMAND_MS };
      // With -x, the error names the command that failed, or that did not end in time.
      return (await promisify(execFile)('sh', ['-euxc', command], options)).stdout;
    },
  };
}

/**
 * Executes the `yaml` and `sh` blocks of a section in order, and compares each `text` block with the output of the block
 * before. Resolves with the whole output.
 */
export async function followSection(shell: Shell, page: string, heading: string): Promise<string> {
  let said = '';
  let last = '';
  for (const block of blocksOf(page, heading)) {
    if (executable(block)) said += last = await shell.run(block);
    else if (block.language === 'text') expect(steady(last)).toMatch(patternOf(block.text));
  }
  return said;
}
