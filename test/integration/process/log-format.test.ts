/** In which form the operator writes its log: text on a terminal, JSON elsewhere, or what --log-format says. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noTerminal, startTerminal } from '../support/plugin.ts';
import { startNode } from '../support/program.ts';

const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const ARGS = [MAIN, '--base-url=http://127.0.0.1:9', '--auth-url=http://127.0.0.1:9', '--kubeconfig=/none'];
const WARNING = 'no --journal-dir: if a crash loses the answer to an order, you must resolve that order yourself';
const TEXT = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ WARN ${WARNING}\r?$`, 'm');

it('writes JSON into a pipe, and text if told so', async () => {
  const json = startNode(ARGS);
  expect(await json.ended).toBe(1);
  expect(json.stdout.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 'warn', msg: WARNING },
    { level: 'fatal', msg: 'operator failed' },
  ]);
  const byFlag = startNode([...ARGS, '--log-format=text']);
  const byVariable = startNode(ARGS, { env: { ...process.env, VPS_LOG_FORMAT: 'text' } });
  for (const text of [byFlag, byVariable]) {
    expect(await text.ended).toBe(1);
    expect(text.stdout).toHaveLength(2);
    expect(text.stdout[0]).toMatch(TEXT);
    expect(text.stdout[1]).toMatch(
      /Z FATAL operator failed: --kubeconfig \/none cannot be loaded: no such file or directory/,
    );
  }
});

it.skipIf(noTerminal !== undefined)('writes text on a terminal, and JSON if told so', async () => {
  const start = (more: string) =>
    startTerminal(`${process.execPath} ${ARGS.join(' ')} ${more}`, { cwd: process.cwd(), env: process.env });
  const [text, json] = [start(''), start('--log-format=json')];
  await text.shows(TEXT);
  await json.shows(/\{"level":"fatal"/);
  expect([await text.ended, await json.ended]).toEqual([1, 1]);
  expect(text.text()).not.toContain('{');
});
