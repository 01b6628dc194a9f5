/** Checks the mutants against the source: a mutant whose line has changed would break nothing and prove nothing. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MUTANTS } from '../mutants/mutants.ts';

const ROOT = join(import.meta.dirname, '../..');

it.each(MUTANTS)('finds the line of the mutant "$name" exactly once', ({ file, find, replace }) => {
  const source = readFileSync(join(ROOT, file), 'utf8');
  expect(source.split(find)).toHaveLength(2);
  expect(replace).not.toBe(find);
});

it.each(
  MUTANTS.flatMap(({ name, tests = [] }) =>
    tests.filter((word) => word.startsWith('test/')).map((path) => ({ name, path })),
  ),
)('finds the tests of the mutant "$name": $path', ({ path }) => {
  expect(existsSync(join(ROOT, path))).toBe(true);
});

it('has at least 15 mutants, with distinct names', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
});
