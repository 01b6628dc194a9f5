import { describe, expect, it } from 'vitest';
import { KNOWN_ANNOTATIONS } from '../../../../src/api/annotations.ts';
import * as names from '../../../../src/api/names.ts';
import { annotationMeant, inputsOf, unknownAnnotations } from '../../../../src/virtual-server/decision/inputs.ts';
import { similarTo } from '../../../../src/base/similar.ts';
import { web } from '../../../fixtures/decision.ts';

const unknown = (...annotations: string[]): string[] =>
  unknownAnnotations({ annotations: Object.fromEntries(annotations.map((name) => [name, ''])) });

describe("annotations with the operator's prefix", () => {
  it.each([
    ['adpot', 'adopt'],
    ['adoptt', 'adopt'],
    ['Adopt', 'adopt'],
    ['notcreated', 'not-created'],
    ['pause', 'paused'],
    ['reconcile', 'reconcile-at'],
    ['servergone', 'server-gone'],
  ])('get a correction for a typo: %s', (typed, meant) => {
    expect(unknown(`vps-operator.dev/${typed}`)).toEqual([`vps-operator.dev/${typed}`]);
    expect(annotationMeant(`vps-operator.dev/${typed}`)).toBe(`vps-operator.dev/${meant}`);
  });

  it('get no correction if nothing is similar', () => {
    expect(unknown('vps-operator.dev/team')).toEqual(['vps-operator.dev/team']);
    expect(annotationMeant('vps-operator.dev/team')).toBeUndefined();
  });

  it('are known if the operator reads or writes them', () => {
    const known = ['adopt', 'not-created', 'start-over', 'paused', 'orphan-handled', 'server-gone', 'reconcile-at'];
    expect(
      unknown(
        ...[...known, 'record', 'replaces', 'template', 'delete-first'].map((name) => `vps-operator.dev/${name}`),
      ),
    ).toEqual([]);
    expect(unknown('vps-operator.dev/owner')).toHaveLength(1);
  });

  it('are all known on some kind, except those of Secrets, of definitions and of the Lease', () => {
    const { OWNER_ANNOTATION, ALLOW_DELETION_ANNOTATION, VERSION_ANNOTATION, ...others } = names;
    const all = Object.entries(others).flatMap(([constant, name]) => (constant.endsWith('_ANNOTATION') ? [name] : []));
    expect(new Set(Object.values(KNOWN_ANNOTATIONS).flat())).toEqual(new Set(all));
    expect(unknown(OWNER_ANNOTATION, ALLOW_DELETION_ANNOTATION)).toHaveLength(2);
  });

  it('change what the operator is told, even if it does not know them', () => {
    expect(inputsOf(web({ annotations: { 'vps-operator.dev/adoptt': '' } }))).not.toBe(inputsOf(web()));
    expect(inputsOf(web({ annotations: { 'example.org/adoptt': '' } }))).toBe(inputsOf(web()));
  });

  it('ignores annotations with other prefixes', () => {
    expect(unknown('kubectl.kubernetes.io/last-applied-configuration', 'example.org/adpot', 'adpot')).toEqual([]);
    expect(unknownAnnotations({})).toEqual([]);
  });
});

describe('the most similar word', () => {
  it.each([
    ['stats', 'status'],
    ['consol', 'console'],
    ['adpot', 'adopt'],
    ['cots', 'cost'],
    ['list', undefined],
    ['get', undefined],
    ['', undefined],
  ])('for %j is %s', (word, expected) => {
    expect(similarTo(word, ['cost', 'status', 'new', 'console', 'adopt'])).toBe(expected);
  });

  it('does not exist without words', () => expect(similarTo('a', [])).toBeUndefined());
});
