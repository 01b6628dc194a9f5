/** The states for tests with GitOps tools: every reason has one, and the generated files are up to date. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { REASONS } from '../../../src/api/conditions.ts';
import { CATALOG_VERDICTS, catalogStates } from '../../gen/catalog-states.ts';
import { farewells, states, type State } from '../../gen/states.ts';
import { VERDICTS } from '../../gen/verdicts.ts';
import { gitopsFiles, testdataFiles } from '../../../tools/gitops.ts';

const STATES = states();

/** All text that the state shows in conditions, their messages, and Events. */
function words({ object, events }: State): string {
  const conditions = object.status?.conditions ?? [];
  return [
    ...conditions.flatMap(({ reason, message }) => [reason, message]),
    ...events.map(({ reason }) => reason),
  ].join();
}

describe('the states', () => {
  it.each(Object.entries(STATES).filter(([, { reason }]) => reason !== undefined))(
    '%s shows its reason',
    (_name, state) => expect(words(state)).toMatch(new RegExp(`\\b${state.reason}\\b`)),
  );

  it('cover every reason, except those that report an object that is gone', () => {
    const shown = new Set(Object.values(STATES).map(({ reason }) => reason));
    const farewell = Object.entries(farewells());
    for (const [reason, events] of farewell) expect(events?.map((event) => event.reason)).toEqual([reason]);
    const told = new Set([...shown, ...farewell.map(([reason]) => reason)]);
    expect(Object.keys(REASONS).filter((reason) => !told.has(reason))).toEqual([]);
  });

  it('have exactly one verdict each', () => {
    expect(Object.keys(VERDICTS).sort()).toEqual(Object.keys(STATES).sort());
    expect(Object.keys(CATALOG_VERDICTS).sort()).toEqual(Object.keys(catalogStates()).sort());
  });
});

describe('the files for Argo CD', () => {
  it('match the states, the verdicts and the Lua scripts (else run: npm run gitops)', async () => {
    for (const [path, text] of await gitopsFiles()) expect(await readFile(path, 'utf8'), path).toBe(text);
  });

  it('include no test data of a state that no longer exists', async () => {
    const paths = [...(await gitopsFiles()).keys()];
    expect((await testdataFiles()).filter((path) => !paths.includes(path))).toEqual([]);
  });
});
