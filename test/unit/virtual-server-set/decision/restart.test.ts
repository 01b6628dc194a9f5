/** What a set does after `kubectl rollout restart`: each member that was there is replaced once, and no other. */
import { describe, expect, it } from 'vitest';
import { MEMBER_TEMPLATE_ANNOTATION, SET_LABEL } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../../../src/api/virtual-server-set.ts';
import { planSet, type SetPlan } from '../../../../src/virtual-server-set/decision/set-plan.ts';
import { member, NOW, webSet } from '../../../fixtures/virtual-server-set.ts';

const [FIRST, SECOND] = ['2026-01-02T00:00:00Z', '2026-01-02T01:00:00Z'];

function restarted(set: VirtualServerSet, at: string): VirtualServerSet {
  const { template } = set.spec;
  const annotations = { 'example.org/team': 'web', [RESTARTED_AT]: at };
  return { ...set, spec: { ...set.spec, template: { ...template, metadata: { annotations } } } };
}

const planned = (set: VirtualServerSet, ...objects: VirtualServer[]): SetPlan =>
  planSet(set, { objects, live: true }, NOW);
const weighty = ({ actions }: SetPlan): string[] =>
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

  it.each(['2026-01-02T00:00:00.000Z', '2025-12-31T00:00:00Z', 'tomorrow'])(
    'is restarted again by the value %j',
    (at) => {
      expect(weighty(planned(restarted(set, at), member(once, 0)))).toEqual(['create']);
      expect(weighty(planned(restarted(set, at), member(restarted(set, at), 0)))).toEqual([]);
    },
  );

  it('has never more servers than its limit, also if it is restarted again', () => {
    const booting = member(once, 1, { reason: 'Creating' });
    const plan = planned(twice, member(set, 0), booting);
    expect(plan.actions.filter(({ type }) => type !== 'update')).toMatchObject([{ type: 'delete', name: 'web-1' }]);
    const ordering = member(once, 1, { reason: 'CreateInFlight' });
    expect(weighty(planned(twice, member(set, 0), ordering))).toEqual([]);
  });

  it.each([
    ['removed', set],
    ['emptied', restarted(set, '')],
  ])('orders nothing if the annotation is %s again', (_how, without) => {
    for (const before of [set, once]) expect(weighty(planned(without, member(before, 0)))).toEqual([]);
    // The restart stops where it is.
    expect(weighty(planned(without, member(set, 0), member(once, 1)))).toEqual(['delete']);
    // What it creates in the meantime is from no restart.
    expect(weighty(planned(without, member(without, 0)))).toEqual([]);
    expect(weighty(planned(once, member(without, 0)))).toEqual(['create']);
  });

  it('keeps members to which an earlier version of the operator wrote the annotation', () => {
    const { metadata, ...rest } = member(once, 0);
    const written = JSON.parse(metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION] ?? '') as { annotations: object };
    // That version wrote the annotations in the order of the template.
    const annotations = Object.fromEntries(Object.entries(written.annotations).reverse());
    const text = JSON.stringify({ ...written, annotations });
    const old = { ...rest, metadata: { ...metadata, annotations: { [MEMBER_TEMPLATE_ANNOTATION]: text } } };
    expect(planned(once, old).actions.map(({ type }) => type)).toEqual(['update']);
  });

  it('replaces no member while it is paused, with OnDelete, or against a protection', () => {
    const spec = { ...once.spec, paused: true };
    expect(planned({ ...once, spec }, member(set, 0)).actions).toEqual([]);
    const onDelete = restarted(webSet({ replicas: 1, type: 'OnDelete' }), FIRST);
    expect(weighty(planned(onDelete, member(set, 0)))).toEqual([]);
    const kept = member(set, 0, { changed: { deletionProtection: true } });
    const plan = planned(once, kept, member(once, 1));
    expect(weighty(plan)).toEqual([]);
    expect(plan.status.conditions?.[0]?.reason).toBe('DeletionBlocked');
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

  it('replaces a member that it released before the restart and adopts again', () => {
    const { metadata, ...rest } = member(set, 0);
    const { ownerReferences, ...released } = metadata;
    expect(planned(once, { ...rest, metadata: released }).actions.map(({ type }) => type)).toEqual(['adopt']);
    expect(
      weighty(planned(once, { ...rest, metadata: { ...released, ...(ownerReferences && { ownerReferences }) } })),
    ).toEqual(['create']);
  });
});
