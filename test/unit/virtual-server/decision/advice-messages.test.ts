/** What a reader meets in the messages of every state: one page to read on, whole commands, no repetition. */
import { describe, expect, it } from 'vitest';
import { hasTrait } from '../../../../src/api/conditions.ts';
import { reasonPage } from '../../../../src/api/documentation.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { farewells, states } from '../../../fixtures/states.ts';
import { visit, type Given } from '../../../fixtures/visits.ts';

const STATES = await states();
const conditionsOf = ({ status }: VirtualServer): Condition[] => status?.conditions ?? [];
const shown = [
  ...Object.entries(STATES).flatMap(([name, { object, events }]) => [
    ...conditionsOf(object).map(({ type, reason, message }) => ({ name: `${name} ${type}`, reason, message })),
    ...events.map(({ reason, note }) => ({ name: `${name} Event`, reason, message: note })),
  ]),
  ...Object.entries(await farewells()).flatMap(([name, events]) =>
    (events ?? []).map(({ reason, note }) => ({ name: `${name} Event`, reason: reason, message: note })),
  ),
];

describe('the message of', () => {
  it.each(shown)('$name ($reason) ends with the page of its reason, or needs no attention', ({ reason, message }) => {
    const addresses = message.match(/https:\S+/g) ?? [];
    expect(addresses).toEqual(hasTrait(reason, 'calm') ? [] : [reasonPage(reason)]);
    if (!hasTrait(reason, 'calm')) expect(message).toMatch(/[^.]\. See https:\S+$/);
  });

  it.each(shown)('$name ($reason) has whole commands and no placeholder in angle brackets', ({ message }) => {
    expect((message.match(/`/g) ?? []).length % 2).toBe(0);
    expect(message).not.toMatch(/<[a-z]/i);
    for (const [, command = ''] of message.matchAll(/`([^`]*)`/g)) expect(command).toMatch(/^kubectl /);
  });
});

const error = new ProviderError('PROVIDER_UNREACHABLE', 'connection refused');
/** A provider that is down: every reconcile starts from the messages that the one before has left. */
const DOWN: Given = {
  answers: { order: { kind: 'notCreated', error }, task: error, server: error, removed: error },
};

describe('a reconcile that finds nothing new', () => {
  it.each(Object.keys(STATES))('after %s writes the same conditions, however often it repeats', async (name) => {
    const { object: first } = await visit(STATES[name]?.object as VirtualServer, DOWN);
    if (first === undefined) return;
    let last = first;
    for (let times = 0; times < 3; times += 1) last = (await visit(last, DOWN)).object ?? last;
    expect(conditionsOf(last)).toEqual(conditionsOf(first));
  });
});
