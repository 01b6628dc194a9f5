import { describe, expect, it } from 'vitest';
import { unknownAnnotations } from '../../../../src/virtual-server/decision/annotations.ts';
import { similarTo } from '../../../../src/base/similar.ts';

const said = (...names: string[]): string[] =>
  unknownAnnotations({ annotations: Object.fromEntries(names.map((name) => [name, ''])) });

describe("annotations with the operator's prefix", () => {
  it.each([
    ['adpot', 'adopt'],
    ['Adopt', 'adopt'],
    ['notcreated', 'not-created'],
    ['pause', 'paused'],
    ['reconcile', 'reconcile-at'],
    ['servergone', 'server-gone'],
  ])('get a correction for a typo: %s', (typed, meant) => {
    expect(said(`vps-operator.dev/${typed}`)).toEqual([
      `Unknown annotation vps-operator.dev/${typed}; did you mean vps-operator.dev/${meant}?`,
    ]);
  });

  it('are only called unknown if nothing is similar', () => {
    expect(said('vps-operator.dev/team')).toEqual([
      'Unknown annotation vps-operator.dev/team; the operator ignores it',
    ]);
  });

  it('are known if the operator reads or writes them', () => {
    const names = ['adopt', 'not-created', 'start-over', 'paused', 'orphan-handled', 'server-gone', 'reconcile-at'];
    expect(said(...[...names, 'record', 'template', 'delete-first'].map((name) => `vps-operator.dev/${name}`))).toEqual(
      [],
    );
    expect(said('vps-operator.dev/owner')).toHaveLength(1);
  });

  it('ignores annotations with other prefixes', () => {
    expect(said('kubectl.kubernetes.io/last-applied-configuration', 'example.org/adpot', 'adpot')).toEqual([]);
    expect(unknownAnnotations({})).toEqual([]);
  });
});

describe('the most similar word', () => {
  it.each([
    ['stats', 'status'],
    ['consol', 'console'],
    ['adpot', 'adopt'],
    ['cots', undefined],
    ['list', undefined],
    ['get', undefined],
    ['', undefined],
  ])('for %j is %s', (word, expected) => {
    expect(similarTo(word, ['cost', 'status', 'new', 'console', 'adopt'])).toBe(expected);
  });

  it('does not exist without words', () => expect(similarTo('a', [])).toBeUndefined());
});
