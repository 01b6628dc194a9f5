/** The help of each command: its examples are valid, and its page exists. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/plugin/program/program.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/reference/kubectl-plugin.md'), 'utf8');
const anchors = [...PAGE.matchAll(/^##+ (.*)$/gm)].map(([, heading = '']) =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-'),
);

function program(): { program: Command; shown: () => string } {
  const out = new PassThrough();
  const chunks: string[] = [];
  out.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const terminal = { out, err: out, input: new PassThrough().end(), paint: {} } as unknown as Terminal;
  return {
    program: createProgram({ terminal, version: '0', exitWith: () => undefined }),
    shown: () => chunks.join(''),
  };
}

const commands = program().program.commands;

describe.each(commands.map((command) => [command.name(), command] as const))('kubectl vps %s', (name, command) => {
  const help = (): string => {
    const { program: fresh, shown } = program();
    fresh.commands.find((each) => each.name() === name)?.outputHelp();
    return shown();
  };

  it('shows no default that tells nothing', () => {
    expect(help()).not.toMatch(/default:\s+(false|\[\]|\{\}|"")/);
  });

  it('begins with a verb, and has examples with flags that exist', () => {
    expect(command.description()).toMatch(/^[a-z]+ /);
    const examples = [...help().matchAll(/^ {2}kubectl vps (.*)$/gm)].map(([, words = '']) => words.split(' '));
    expect(examples.length).toBeGreaterThan(0);
    for (const [word, ...words] of examples) {
      expect(word).toBe(name);
      const own = words.slice(0, words.includes('--') ? words.indexOf('--') : undefined);
      const known = command.options.flatMap(({ short, long }) => [short, long]);
      for (const flag of own.filter((each) => each.startsWith('-'))) expect(known).toContain(flag);
    }
  });

  it('shows its flags, also those of its subcommands, and where the flags of all commands are', () => {
    for (const each of [command, ...command.commands]) {
      for (const { flags } of each.options) expect(each.helpInformation()).toContain(flags);
    }
    expect(help()).toContain('kubectl vps --help   # the flags that all commands take');
  });

  it('ends with its page', () => {
    const [, anchor = ''] = /kubectl-plugin\.md#(\S+)\n*$/.exec(help()) ?? [];
    expect(anchors).toContain(anchor);
  });
});

it('groups the commands by what a user wants', () => {
  const { program: fresh, shown } = program();
  fresh.outputHelp();
  const headings = [...shown().matchAll(/^([A-Z][a-z ]+):$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['Options', 'See', 'Change', 'Log in', 'Plan and undo', 'Set up']);
  const [, setUp = ''] = shown().split('\nSet up:\n');
  expect([...setUp.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name)).toEqual([
    'login',
    'logout',
    'doctor',
    'help',
  ]);
});
