/** What the commands write without a terminal, and on one with NO_COLOR: no colors, no spinner, no warnings of Node. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/plugin/program/program.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

/** One call of each command or subcommand; those that cannot do their work report why. */
const CALLS = [
  ...['list', 'list -o wide', 'status web', 'timeline web', 'wait web', 'wait none --timeout 1s', 'cost'],
  ...['catalog', 'console web', 'logs web', 'doctor', 'login', 'logout --yes --secret none', 'pause web', 'resume web'],
  ...['reconcile web', 'protect web', 'unprotect web', 'extend web --ttl 24h', 'ssh none', 'scp a none:b', 'new x'],
  ...['adopt web vs1 --yes', 'start-over web --yes', 'resolve web --not-created --yes', 'rollout history none'],
  ...['rollout status none', 'rollout undo none', 'rollout pause none', 'rollout resume none', 'rollout restart none'],
  ...['replace none', 'replace none --yes', 'ssh-config', 'ssh-config --write', 'inventory', 'inventory --host none'],
  ...['start web', 'stop web', 'stop web --force', 'suspend web', 'suspend web --yes', 'reboot web'],
  ...['plan -f none', 'plan -f - -o markdown'],
  ...['undelete none', 'cancel none', 'cancel none --yes --now', 'orphans', 'import', 'import vs1'],
];

const ESC = '\u001b';
/** Escape sequences, and the return to the start of the line that a spinner needs. */
const STEERING = new RegExp(`[${ESC}\r\u0007]`);
/** Colors and styles. */
const STYLE = new RegExp(`${ESC}\\[[\\d;]*m`);
const NODE_WARNING = /\(node:\d+\)|ExperimentalWarning|DeprecationWarning/;

function commandNames(): string[] {
  const terminal = { out: new PassThrough(), err: new PassThrough() } as unknown as Terminal;
  return createProgram({ terminal, version: '0', exitWith: () => undefined }).commands.map((command) => command.name());
}

it('is plain text without a terminal, for every command', async () => {
  const world = await createWorld();
  await readyServer(world, 'web');
  const plugin = await createPlugin(folder(), world.namespace);
  for (const name of commandNames()) {
    const calls = CALLS.filter((call) => call.split(' ')[0] === name);
    expect(calls, `a call of ${name}`).not.toEqual([]);
    for (const words of [...calls, `${name} --help`, `${name} --nonsense`]) {
      const { stdout, stderr } = await plugin.kubectl(['vps', ...words.split(' ')]);
      expect(stdout + stderr, words).not.toBe('');
      expect(stdout + stderr, words).not.toMatch(STEERING);
    }
  }
});

it('is plain text in a pipe', async () => {
  const world = await createWorld();
  await readyServer(world, 'web');
  const plugin = await createPlugin(folder(), world.namespace);
  for (const words of ['list', 'status web', 'wait web', 'doctor', 'catalog', 'cost', 'login', 'ssh none', '--help']) {
    const { stdout } = await plugin.shell(`kubectl vps ${words} 2>&1 < /dev/null | cat`);
    expect(stdout, words).not.toBe('');
    expect(stdout, words).not.toMatch(STEERING);
    expect(stdout, words).not.toMatch(NODE_WARNING);
  }
});

it.skipIf(noTerminal !== undefined)('has no colors on a terminal with NO_COLOR', async () => {
  const world = await createWorld();
  await readyServer(world, 'web');
  const plugin = await createPlugin(folder(), world.namespace);
  for (const words of ['list', 'status web', 'timeline web', 'wait web', 'doctor', 'catalog', 'cost']) {
    const session = plugin.terminal(`NO_COLOR=1 kubectl vps ${words}`);
    await session.ended;
    expect(session.text(), words).not.toBe('');
    // A line of progress may still be erased.
    expect(session.text(), words).not.toMatch(STYLE);
    expect(session.text(), words).not.toMatch(NODE_WARNING);
  }
});
