import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHeld } from '../../../tools/run-program.ts';

const SOURCE = join(import.meta.dirname, '../../../tools/run-program.ts');
const PRINT = `process.stdout.write(String(process.env.NO_COLOR))`;
const SCRIPT = `
  import { runProgram } from ${JSON.stringify(SOURCE)};
  await runProgram(process.execPath, ['-e', ${JSON.stringify(PRINT)}]);`;

it.each([
  ['tells programs to write no colors into a pipe', {}, '1'],
  ['lets a user force colors', { FORCE_COLOR: '1' }, 'undefined'],
])('%s', (_what, more, says) => {
  const { NO_COLOR, FORCE_COLOR, ...rest } = process.env;
  const env = { ...rest, ...more };
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT], { encoding: 'utf8', env });
  expect(stdout).toBe(says);
});

it('holds what a program prints until it has ended', async () => {
  const script = `process.stdout.write('a', () => process.stderr.write('b', () => process.exit(3)))`;
  expect(await runHeld(process.execPath, ['-e', script])).toEqual({ code: 3, output: 'ab' });
});
