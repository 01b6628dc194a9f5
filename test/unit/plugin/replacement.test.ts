/** What `kubectl vps replace` decides without a cluster. */
import { describe, expect, it } from 'vitest';
import { REPLACES_ANNOTATION } from '../../../src/api/names.ts';
import { ordinalOf } from '../../../src/virtual-server-set/decision/template.ts';
import {
  canTakeOver,
  replacementMark,
  nextName,
  pairOf,
  replacementOf,
  requireReplaceable,
  specHash,
} from '../../../src/plugin/decisions/replacement.ts';
import { withVerdict } from '../../../src/controller/conditions.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const web = stored('web');
const replacing = (name: string, createdAt = '2026-01-01T00:00:00Z') => {
  const { annotations } = replacementOf(web, name, web.spec, {}).metadata;
  return stored(name, storedWith({ metadata: { annotations, creationTimestamp: createdAt } }));
};

describe('the name of a replacement', () => {
  it.each([
    ['web', 'web-v2'],
    ['web-v2', 'web-v3'],
    ['web-v9', 'web-v10'],
    ['web-0', 'web-0-v2'],
    ['v2', 'v2-v2'],
  ])('of %s is %s, which no set gives to a member', (name, next) => {
    expect(nextName(name)).toBe(next);
    expect(ordinalOf('web', next)).toBeUndefined();
  });
});

describe('the mark of a replacement', () => {
  it('names the object and its spec, and nothing of another object is copied', () => {
    const described = {
      labels: { tier: 'front', 'vps-operator.dev/set': 'web' },
      annotations: { 'vps-operator.dev/record': '{}', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    };
    const { metadata } = replacementOf(web, 'web-v2', web.spec, described);
    expect(metadata.labels).toEqual({ tier: 'front' });
    expect(Object.keys(metadata.annotations)).toEqual([REPLACES_ANNOTATION]);
    expect(replacementMark(replacing('web-v2'))).toEqual({ name: 'web', uid: 'uid-of-web', spec: specHash(web) });
  });

  it.each(['', 'web', '{}', 'null', '{"name":1,"uid":"u","spec":"s"}'])('is none if it is %j', (text) => {
    expect(
      replacementMark(stored('x', storedWith({ metadata: { annotations: { [REPLACES_ANNOTATION]: text } } }))),
    ).toBe(undefined);
  });

  it('has the same hash whatever the order of the fields, and another one for another value', () => {
    const { product, ...others } = web.spec;
    expect(specHash({ spec: { ...others, product } })).toBe(specHash(web));
    expect(specHash({ spec: { ...web.spec, deletionPolicy: 'Retain' } })).not.toBe(specHash(web));
  });
});

it('names the set of a member in a command that is safe for a shell', () => {
  // The API server does not check the names of owners.
  const ownerReferences = [{ kind: 'VirtualServerSet', name: 'x;touch $HOME/x', uid: 'u', controller: true }];
  const member = stored('web', storedWith({ metadata: { ownerReferences } }));
  expect(() => requireReplaceable(member, '', 0)).toThrow(
    expect.objectContaining({
      hints: ["kubectl vps rollout restart 'set/x;touch $HOME/x'   # new servers for all its members"],
    }),
  );
});

describe('an object that another tool applies', () => {
  it.each([
    ['Argo CD', { annotations: { 'argocd.argoproj.io/tracking-id': 'app:vps-operator.dev/VirtualServer:team/web' } }],
    ['Flux', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'servers' } }],
    ['Flux', { managedFields: [{ manager: 'helm-controller' }] }],
    ['Helm', { annotations: { 'meta.helm.sh/release-name': 'servers' } }],
  ])('%s is not replaced: %j', (tool, metadata) => {
    const applied = stored('web', storedWith({ metadata: metadata as object }));
    expect(() => requireReplaceable(applied, '', 0)).toThrow(`${tool} applies web`);
    expect(() =>
      requireReplaceable(stored('web', storedWith({ metadata: { labels: { constructor: 'x' } } })), '', 0),
    ).not.toThrow();
  });
});

describe('the pair', () => {
  it('is the object and what replaces it, or what replaced it last', () => {
    const [second, third] = [replacing('web-v2'), replacing('web-v3', '2026-01-02T00:00:00Z')];
    expect(pairOf([web, second], 'web')).toEqual({ old: web, next: second });
    expect(pairOf([second, third], 'web')).toEqual({ old: undefined, next: third });
    const recreated = stored('web', storedWith({ metadata: { uid: 'another' } }));
    expect(pairOf([recreated, second], 'web')).toEqual({ old: recreated, next: undefined });
    expect(() => pairOf([web, second, third], 'web')).toThrow('web-v2 and web-v3 both replace web');
  });
});

describe('a replacement', () => {
  const conditions = (reason: 'Available' | 'Creating') => withVerdict([], { reason, message: '' }, 1, 0);
  const available = { observedGeneration: 1, conditions: conditions('Available'), ipv6: ['2001:db8::1'] };

  it.each([
    ['is ready', available, {}, true],
    ['has no address', { ...available, ipv6: [] }, {}, false],
    ['has an older status', { ...available, observedGeneration: 0 }, {}, false],
    ['is in creation', { ...available, conditions: conditions('Creating') }, {}, false],
    ['is being deleted', available, { deletionTimestamp: '2026-01-01T00:00:00Z' }, false],
  ])('that %s can take over, or not', (_what, status, metadata, can) => {
    expect(canTakeOver(stored('web-v2', storedWith({ status, metadata })))).toBe(can);
  });

  it('that stays Ready while another condition has to be dealt with cannot take over', () => {
    const stalled = { type: 'Stalled', status: 'True', reason: 'Unauthorized', message: '', lastTransitionTime: '' };
    const status = { ...available, conditions: [...available.conditions, { ...stalled, status: 'True' as const }] };
    expect(canTakeOver(stored('web-v2', storedWith({ status })))).toBe(false);
  });
});
