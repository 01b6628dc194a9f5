/** What a set does after `kubectl rollout restart`: each member that was there is replaced once, and no other. */
import { describe, expect, it } from 'vitest';
import { MEMBER_TEMPLATE_ANNOTATION, SET_LABEL } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../../../src/api/virtual-server-set.ts';
import { planSet, type Plan } from '../../../../src/virtual-server-set/decision/plan.ts';
import { member, NOW, webSet } from '../../../fixtures/virtual-server-set.ts';

const [FIRST, SECOND] = ['2026-01-02T00:00:00Z', '2026-01-02T01:00:00Z'];

function restarted(set: VirtualServerSet, at: string): VirtualServerSet {
  const { template } = set.spec;
  const annotations = { 'example.org/team': 'web', [RESTARTED_AT]: at };
  return { ...set, spec: { ...set.spec, template: { ...template, metadata: { annotations } } } };
}

const planned = (set: VirtualServerSet, ...objects: VirtualServer[]): Plan =>
  planSet(set, { objects, live: true }, NOW);
const weighty = ({ actions }: Plan): string[] =>
  actions.filter(({ type }) => type === 'create' || type === 'delete').map(({ type }) => type);

const set = webSet({ replicas: 1 });
const [once, twice] = [restarted(set, FIRST), restarted(set, SECOND)];

describe('a restarted set', () => {
  it('replaces members from before the restart, also of an earlier restart', () => {
    for (const [now, before] of [
      [once, set],
      [twice, set],
      [twice, once],
    ] as const) {
      const plan = planned(now, member(before, 0));
      expect(weighty(plan)).toEqual(['create']);
      expect(plan.status).toMatchObject({ updatedReplicas: 0, conditions: [{ reason: 'RollingOut' }, {}] });
    }
  });

  it('keeps the members that it created since', () => {
    const plan = planned(once, member(once, 0));
    expect(plan.actions).toEqual([]);
    expect(plan.status.conditions?.[0]?.reason).toBe('Available');
  });

  it('writes other annotations to members, and leaves them the restart that they are from', () => {
    const [update] = planned(once, member(set, 0)).actions;
    if (update?.type !== 'update') throw new Error('no update');
    const { annotations } = update.patch.metadata;
    expect(annotations).toMatchObject({ 'example.org/team': 'web' });
    expect(annotations).not.toHaveProperty([RESTARTED_AT]);
    // What it wrote makes the member no newer.
    const written = annotations[MEMBER_TEMPLATE_ANNOTATION] ?? '';
    const after = member(set, 0, { annotations: { [MEMBER_TEMPLATE_ANNOTATION]: written } });
    expect(planned(once, after).actions.map(({ type }) => type)).toEqual(['create']);
  });

  it('replaces nothing if the annotation is removed again', () => {
    expect(weighty(planned(set, member(once, 0)))).toEqual([]);
  });

  it('keeps a server that it adopts after the restart', () => {
    const { metadata, ...rest } = member(once, 0);
    const labels = { [SET_LABEL]: 'web' };
    const adopted = { ...rest, metadata: { ...metadata, labels, annotations: {} } };
    const plan = planned(once, adopted);
    expect(plan.actions.map(({ type }) => type)).toEqual(['update']);
    const [update] = plan.actions;
    if (update?.type !== 'update') throw new Error('no update');
    const annotations = update.patch.metadata.annotations as Record<string, string>;
    expect(planned(once, { ...rest, metadata: { ...metadata, labels, annotations } }).actions).toEqual([]);
    expect(weighty(planned(twice, { ...rest, metadata: { ...metadata, labels, annotations } }))).toEqual(['create']);
  });
});
