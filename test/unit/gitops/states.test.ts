/** The states for tests with GitOps tools: every reason has one, and the generated files are up to date. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { currentReason, REASONS, SET_REASONS } from '../../../src/api/conditions.ts';
import { setEvents, setStates } from '../../fixtures/set-states.ts';
import { farewells, states, type State } from '../../fixtures/states.ts';
import { gitopsFiles, JUDGED, KINDS, testdataFiles } from '../../../tools/gitops.ts';

const STATES = await states();
const FAREWELLS = await farewells();
const SET_STATES = await setStates();

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
    const farewell = Object.entries(FAREWELLS);
    for (const [reason, events] of farewell) expect(events?.map((event) => event.reason)).toEqual([reason]);
    const told = new Set([...shown, ...farewell.map(([reason]) => reason)]);
    expect(Object.keys(REASONS).filter((reason) => !told.has(reason))).toEqual([]);
  });

  it('of sets cover every reason of sets, each under its name', () => {
    const reasons = [...Object.keys(SET_REASONS), 'Available', 'Deleting'];
    const events = setEvents();
    const shown = reasons.map((name) => events[name]?.reason ?? currentReason(SET_STATES[name]?.status?.conditions));
    expect(shown).toEqual(reasons);
  });

  it.each(KINDS)('of %s have exactly one verdict each', (kind) => {
    const { objects, verdicts } = JUDGED[kind];
    expect(Object.keys(verdicts).sort()).toEqual(Object.keys(objects()).sort());
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
