import { describe, expect, it } from 'vitest';
import { MEMBER_TEMPLATE_ANNOTATION, PAUSED_ANNOTATION, REVISION_LABEL } from '../../../../src/api/names.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../../../src/api/virtual-server-set.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { withCondition } from '../../../../src/controller/conditions.ts';
import type { Reason } from '../../../../src/api/conditions.ts';
import { mergePatched } from '../../../../src/plugin/cluster/merge-patch.ts';
import { planSet, type SetPlan } from '../../../../src/virtual-server-set/decision/set-plan.ts';
import { orderedOf, revisionOf, shortName } from '../../../../src/virtual-server-set/decision/template.ts';
import { CUT_SSH_KEY } from '../../../fixtures/virtual-server.ts';
import { member, NOW, webSet, type MemberShape, type SetShape } from '../../../fixtures/virtual-server-set.ts';

const ONLINE = { changePolicy: 'Online', product: 'VPSX8' } as const;
const STOP = { changePolicy: 'AllowStop', product: 'VPSX8' } as const;
/** A member whose server runs, and that has the product of the template before. */
const OLD: MemberShape = { spec: { product: 'VPSX4' }, price: 9.5 };
const NEW: MemberShape = { price: 9.5 };

/** Members with these shapes, from ordinal 0 on. */
const membersOf = (set: VirtualServerSet, shapes: MemberShape[]): VirtualServer[] =>
  shapes.map((shape, ordinal) => member(set, ordinal, shape));
const planOf = (set: VirtualServerSet, objects: VirtualServer[]): SetPlan => planSet(set, { objects, live: true }, NOW);
const plan = (shape: SetShape, shapes: MemberShape[]): SetPlan => {
  const set = webSet(shape);
  return planOf(set, membersOf(set, shapes));
};
const does = ({ actions }: SetPlan): string[] =>
  actions.map((action) => `${action.type} ${action.type === 'create' ? action.manifest.metadata.name : action.name}`);
const ready = ({ status }: SetPlan) => status.conditions?.find(({ type }) => type === 'Ready');

/** The member with ChangePending. */
const pending = (object: VirtualServer, reason: Reason, message = `It is ${reason}`): VirtualServer => ({
  ...object,
  status: {
    ...object.status,
    conditions: withCondition(object.status?.conditions ?? [], 'ChangePending', { reason, message }, 1, NOW),
  },
});

/** The member as the API server stores it after the action on it. */
function changed(object: VirtualServer, { actions }: SetPlan): VirtualServer {
  const action = actions.find((each) => each.type === 'change' && each.uid === object.metadata.uid);
  if (action?.type !== 'change') throw new Error('the plan does not change this member');
  const { metadata, spec } = action.patch;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      generation: object.metadata.generation + 1,
      annotations: { ...object.metadata.annotations, ...(metadata.annotations as Record<string, string>) },
    },
    spec: mergePatched(object.spec, spec) as VirtualServerSpec,
  };
}
/** The operator has seen the spec, and the server has it. */
const observed = (object: VirtualServer): VirtualServer => ({
  ...object,
  status: { ...object.status, observedGeneration: object.metadata.generation },
});

describe('a change of the template that its changePolicy allows in place', () => {
  it('patches one member, and orders and deletes none', () => {
    const planned = plan({ spec: ONLINE }, [OLD, OLD, OLD]);
    expect(does(planned)).toEqual(['change web-2']);
    const [action] = planned.actions;
    expect(action).toMatchObject({
      resourceVersion: '1',
      patch: { spec: { product: 'VPSX8' }, metadata: { labels: { [REVISION_LABEL]: planned.status.updateRevision } } },
    });
    expect(ready(planned)).toMatchObject({ status: 'False', reason: 'RollingOut' });
  });

  it.each<[string, Partial<VirtualServerSpec>, Partial<VirtualServerSpec>]>([
    ['a larger disk', { diskSize: 20480 }, { diskSize: 10240 }],
    ['more cores', { changePolicy: 'AllowStop', advanced: { extraCores: 2 } }, { advanced: { extraCores: 1 } }],
  ])('works for %s', (_what, template, before) => {
    const planned = plan({ replicas: 1, maxUnavailable: 1, spec: { changePolicy: 'Online', ...template } }, [
      { spec: before, price: 1 },
    ]);
    expect(does(planned)).toEqual(['change web-0']);
  });

  it.each<[string, Partial<VirtualServerSpec>, MemberShape]>([
    ['without changePolicy', { product: 'VPSX8' }, OLD],
    ['with changePolicy Never', { changePolicy: 'Never', product: 'VPSX8' }, OLD],
    ['of a smaller disk', { changePolicy: 'AllowStop', diskSize: 5120 }, { spec: { diskSize: 10240 }, price: 1 }],
    ['of the image', { changePolicy: 'AllowStop' }, { spec: { image: 'old/image' }, price: 1 }],
    ['of product and image', ONLINE, { spec: { product: 'VPSX4', image: 'old/image' }, price: 1 }],
    [
      'that needs AllowStop, with Online',
      { changePolicy: 'Online', advanced: { tablet: true } },
      { spec: { advanced: { tablet: false } }, price: 1 },
    ],
  ])('replaces %s, as ever', (_what, template, shape) => {
    const set = webSet({ spec: template });
    const earlier = { ...set.spec.template.spec, ...shape.spec };
    const revisions = [{ revision: shortName(revisionOf(earlier)), spec: orderedOf(earlier) }];
    const objects = membersOf(set, [shape, shape, shape]);
    expect(does(planOf({ ...set, status: { revisions } }, objects))).toEqual(['create web-3']);
  });

  it('writes only the revision of a member that you have made so already, although a policy has added a key to it', () => {
    const set = webSet({ replicas: 1, spec: { product: 'VPSX8' } });
    const earlier = { ...set.spec.template.spec, product: 'VPSX4' };
    const revisions = [{ revision: shortName(revisionOf(earlier)), spec: orderedOf(earlier) }];
    const created = member({ ...set, spec: { ...set.spec, template: { spec: earlier } } }, 0, { price: 1 });
    const sshKeys = [...(earlier.sshKeys ?? []), CUT_SSH_KEY];
    const changedBy = (spec: Partial<VirtualServerSpec>): VirtualServer => ({
      ...created,
      spec: { ...created.spec, ...spec },
    });
    const planned = (object: VirtualServer): SetPlan => planOf({ ...set, status: { revisions } }, [object]);
    const own = planned(changedBy({ product: 'VPSX8', sshKeys }));
    expect(does(own)).toEqual(['change web-0']);
    expect(changed(created, own).spec).toEqual(created.spec);
    expect(does(planned(changedBy({ sshKeys })))).toEqual(['create web-1']);
  });

  it('changes members that have ordered nothing, which then order by the new template', () => {
    const pendingMember: MemberShape = { ...OLD, reason: 'Pending', ordered: false };
    expect(does(plan({ replicas: 1, spec: ONLINE }, [pendingMember]))).toEqual(['change web-0']);
  });

  it('waits for a member whose server was not read yet', () => {
    const ordering: MemberShape = { spec: { product: 'VPSX4' }, reason: 'Creating' };
    expect(does(plan({ replicas: 1, spec: ONLINE }, [ordering]))).toEqual([]);
  });

  it('replaces after a restart of the set', () => {
    const set = webSet({ replicas: 1, spec: ONLINE });
    const objects = membersOf(set, [OLD]);
    const { template } = set.spec;
    const restarted = { ...template, metadata: { annotations: { [RESTARTED_AT]: '2026-01-02T00:00:00Z' } } };
    expect(does(planOf({ ...set, spec: { ...set.spec, template: restarted } }, objects))).toContain('create web-1');
  });

  it('changes nothing with OnDelete', () => {
    expect(does(plan({ type: 'OnDelete', spec: ONLINE }, [OLD, OLD, OLD]))).toEqual([]);
  });

  it('first writes the policy to the members', () => {
    const set = webSet({ spec: ONLINE });
    const objects = membersOf(webSet(), [OLD, OLD, OLD]);
    expect(does(planOf(set, objects))).toEqual(['update web-0', 'update web-1', 'update web-2']);
  });

  it('needs a live list', () => {
    const set = webSet({ spec: ONLINE });
    const { look, actions } = planSet(set, { objects: membersOf(set, [OLD, OLD, OLD]), live: false }, NOW);
    expect([look, actions]).toEqual([true, []]);
  });

  it('orders what is missing, with the new template', () => {
    expect(does(plan({ spec: ONLINE }, [OLD, OLD]))).toEqual(['change web-1', 'create web-2']);
  });

  it('deletes what is too much, and changes none of these', () => {
    expect(does(plan({ replicas: 2, spec: ONLINE }, [OLD, OLD, OLD]))).toEqual(['delete web-2', 'change web-1']);
  });
});

describe('the next member', () => {
  const set = webSet({ spec: ONLINE });
  const objects = membersOf(set, [OLD, OLD, OLD]);
  const first = changed(objects[2] as VirtualServer, planOf(set, objects));
  const after = (third: VirtualServer): SetPlan => planOf(set, [...objects.slice(0, 2), third]);

  it('waits until the operator has seen the spec of the first one', () => {
    expect(does(after(first))).toEqual([]);
    expect(after(first).status).toMatchObject({ updatedReplicas: 0, availableReplicas: 3 });
    expect(ready(after(first))?.message).toContain('waiting for the change of web-2 in place');
    expect(does(after(observed(first)))).toEqual(['change web-1']);
    expect(after(observed(first)).status.updatedReplicas).toBe(1);
  });

  it('waits while the server differs from the spec', () => {
    expect(does(after(pending(observed(first), 'Changing')))).toEqual([]);
    expect(ready(after(pending(observed(first), 'Changing')))?.message).toContain('web-2 is Changing: It is Changing');
  });

  it('waits until the first one is Ready again', () => {
    expect(does(planOf(set, membersOf(set, [OLD, OLD, { ...NEW, reason: 'ServerNotRunning' }])))).toEqual([]);
  });

  it('waits for minReadySeconds after the last change, also of a server that never stopped', () => {
    const slow = webSet({ spec: ONLINE, minReadySeconds: 60 });
    const given = membersOf(
      slow,
      [OLD, OLD, NEW].map((shape) => ({ ...shape, forSeconds: 3600 })),
    );
    const just = planOf(slow, given);
    expect(does(just)).toEqual([]);
    expect(just.afterMs).toBe(60_000);
    const later = planSet({ ...slow, status: just.status }, { objects: given, live: true }, NOW + 60_000);
    expect(does(later)).toEqual(['change web-1']);
  });

  it('waits for minReadySeconds, not for the wrong clock of another replica', () => {
    const shape = { replicas: 2, minReadySeconds: 60, maxUnavailable: 1, spec: ONLINE };
    const set = webSet(shape);
    const objects = membersOf(set, [
      { ...NEW, forSeconds: 600 },
      { ...OLD, forSeconds: 600 },
    ]);
    const { status } = planOf(set, objects);
    const day = 86_400_000;
    const ahead = { ...set, status: { ...status, lastProgressTime: new Date(NOW + day).toISOString() } };
    const at = (now: number, given: VirtualServerSet): SetPlan => planSet(given, { objects, live: true }, now);
    const first = at(NOW, ahead);
    expect([does(first), first.afterMs]).toEqual([[], 60_000]);
    expect(first.status.lastProgressTime).toBe(new Date(NOW).toISOString().replace('.000', ''));
    expect(does(at(NOW + 60_000, { ...ahead, status: first.status }))).toEqual(['change web-1']);
  });

  it('is changed with the first one if maxUnavailable is 2', () => {
    expect(does(plan({ maxUnavailable: 2, spec: ONLINE }, [OLD, OLD, OLD]))).toEqual(['change web-2', 'change web-1']);
  });

  it('is changed when the last change is complete, and then the set is Available', () => {
    let members = objects;
    const done: string[] = [];
    for (let step = 0; step < 3; step += 1) {
      const planned = planOf(set, members);
      done.push(...does(planned));
      members = members.map((object) =>
        does(planned).includes(`change ${object.metadata.name}`) ? observed(changed(object, planned)) : object,
      );
    }
    expect(done).toEqual(['change web-2', 'change web-1', 'change web-0']);
    const last = planOf(set, members);
    expect([does(last), ready(last)?.reason]).toEqual([[], 'Available']);
  });
});

describe('a change that may stop servers', () => {
  it('needs maxUnavailable, and the set has the command', () => {
    const planned = plan({ spec: STOP }, [OLD, OLD, OLD]);
    expect(does(planned)).toEqual([]);
    expect(ready(planned)).toMatchObject({ reason: 'MemberBlocked' });
    expect(ready(planned)?.message).toContain(
      `kubectl patch vpsset web -n default --type merge -p '{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}'`,
    );
  });

  it('leaves as many members available as a deletion does', () => {
    const down: MemberShape = { ...OLD, reason: 'ServerNotRunning' };
    expect(does(plan({ maxUnavailable: 1, spec: STOP }, [OLD, OLD, OLD]))).toEqual(['change web-2']);
    expect(does(plan({ maxUnavailable: 1, spec: STOP }, [down, OLD, OLD]))).toEqual(['change web-0']);
    expect(does(plan({ maxUnavailable: 2, spec: STOP }, [down, OLD, OLD]))).toEqual(['change web-0', 'change web-2']);
  });

  it('counts as unavailable before it has stopped the server', () => {
    const set = webSet({ replicas: 2, maxUnavailable: 1, spec: STOP });
    const objects = membersOf(set, [NEW, NEW, { ...NEW, annotations: {} }]);
    const busy = objects.map((object, ordinal) => (ordinal === 2 ? object : pending(object, 'Changing')));
    // Two of three may be about to stop, and one has to stay available.
    expect(does(planOf(set, busy))).toEqual(['delete web-1']);
    const least = webSet({ replicas: 2, spec: STOP });
    expect(does(planOf(least, [pending(objects[0] as VirtualServer, 'Changing'), ...objects.slice(1)]))).toEqual([
      'delete web-0',
    ]);
  });

  it('does not replace one that scaling down would delete', () => {
    const set = webSet({ replicas: 2 });
    const [kept, ...others] = membersOf(set, [{ ...NEW, annotations: { [PAUSED_ANNOTATION]: '' } }, NEW, NEW]);
    expect(does(planOf(set, [kept as VirtualServer, ...others]))).toEqual(['delete web-2']);
    expect(does(planOf(set, [pending(kept as VirtualServer, 'Changing'), ...others]))).toEqual([]);
  });

  it('is not deleted as unavailable while its users need it', () => {
    const set = webSet({ replicas: 4, maxUnavailable: 1, spec: { product: 'VPSX8' } });
    const rejected: MemberShape = { ...OLD, reason: 'CreateRejected', ordered: false };
    const objects = membersOf(set, [NEW, rejected, rejected, OLD]);
    const [new0, old1, old2, old3] = objects as [VirtualServer, VirtualServer, VirtualServer, VirtualServer];
    // With the last one, two of the three run that the set promises.
    expect(does(planOf(set, [new0, old1, old2, pending(old3, 'ChangeRefused')]))).toEqual([
      'delete web-2',
      'create web-4',
    ]);
    // Four run, the change of each is pending, and the set must not delete the fifth: one goes at a time.
    const paused: MemberShape = { ...rejected, annotations: { [PAUSED_ANNOTATION]: '' } };
    const five = membersOf(set, [paused, OLD, OLD, OLD, OLD]).map((object, ordinal) =>
      ordinal === 0 ? object : pending(object, 'ChangeRefused'),
    );
    expect(does(planOf(set, five))).toEqual(['delete web-4']);
  });
});

describe('a change that the provider refuses', () => {
  const set = webSet({ maxUnavailable: 2, spec: ONLINE });
  const refused = (reason: Reason, given = set): SetPlan => {
    const [zero, one, two] = membersOf(given, [OLD, OLD, NEW]) as [VirtualServer, VirtualServer, VirtualServer];
    return planOf(given, [zero, one, pending(two, reason, 'No such product')]);
  };

  it.each(['ChangeRefused', 'ChangeUnavailable', 'StopRequired', 'ChangeLimited', 'RestartPending'] as const)(
    'stops the rollout with %s, and replaces nothing',
    (reason) => {
      const planned = refused(reason);
      expect(does(planned)).toEqual([]);
      expect(ready(planned)).toMatchObject({ status: 'False', reason: 'MemberBlocked' });
      expect(ready(planned)?.message).toContain(`web-2 is ${reason}: No such product.`);
      expect(ready(planned)?.message).toContain('`kubectl delete vps web-2 -n default`');
    },
  );

  it('does not stop it while the operator restarts the server itself', () => {
    expect(ready(refused('RestartPending', webSet({ maxUnavailable: 1, spec: STOP })))?.reason).toBe('RollingOut');
  });

  it('stops replacements too, but no orders of missing members, and no scaling down', () => {
    const mixed: MemberShape = { spec: { image: 'old/image' }, price: 1 };
    const [zero, one, two] = membersOf(set, [mixed, mixed, NEW]) as [VirtualServer, VirtualServer, VirtualServer];
    const bad = pending(two, 'ChangeRefused');
    expect(does(planOf(set, [zero, one, bad]))).toEqual([]);
    expect(does(planOf(set, [one, bad]))).toEqual(['create web-0']);
    const less = webSet({ replicas: 2, spec: ONLINE });
    expect(does(planOf(less, [...membersOf(less, [OLD, OLD]), bad]))).toEqual(['delete web-2']);
  });

  it('ends when the template gets other values', () => {
    const other = webSet({ replicas: 1, spec: { ...ONLINE, product: 'VPSX16' } });
    const object = pending(member(other, 0, { spec: { product: 'VPSX8' }, price: 1 }), 'ChangeRefused');
    expect(does(planOf(other, [object]))).toEqual(['change web-0']);
  });
});

describe('a member that differs from the template on its own account', () => {
  /** A set whose last template had the old product. */
  const before = webSet({ replicas: 1, spec: { changePolicy: 'Online', product: 'VPSX4' } });
  const revisions = [
    { revision: shortName(revisionOf(before.spec.template.spec)), spec: orderedOf(before.spec.template.spec) },
  ];
  const set = { ...webSet({ replicas: 1, spec: ONLINE }), status: { revisions } };
  const own = (spec: Partial<VirtualServerSpec>, given: VirtualServerSet = set): SetPlan =>
    planOf(given, [member(before, 0, { changed: spec, price: 1 })]);

  it('keeps what a policy or you changed, and counts as updated', () => {
    const object = member(before, 0, { changed: { sshKeys: ['of a policy'] }, price: 1 });
    const planned = planOf(set, [object]);
    expect(planned.actions).toMatchObject([{ type: 'change', patch: { spec: { product: 'VPSX8' } } }]);
    const next = planOf(set, [observed(changed(object, planned))]);
    expect([does(next), ready(next)?.reason, next.status.updatedReplicas]).toEqual([[], 'Available', 1]);
  });

  it('is neither changed nor replaced if its own policy forbids the change', () => {
    const planned = own({ changePolicy: 'Never' });
    expect(does(planned)).toEqual([]);
    expect(ready(planned)).toMatchObject({ reason: 'MemberBlocked' });
    expect(ready(planned)?.message).toContain('because this member has spec.changePolicy Never, unlike the template');
  });

  it('takes what its server has already although its own policy forbids the change, but not while a request may be under way', () => {
    const set = webSet({ replicas: 1, spec: ONLINE });
    const object = member(set, 0, { ...OLD, changed: { changePolicy: 'Never' } });
    const showing = (more: object): VirtualServer => ({
      ...object,
      status: {
        ...object.status,
        product: 'VPSX8',
        record: { ...object.status?.record, ...more },
      },
    });
    expect(does(planOf(set, [showing({})]))).toEqual(['change web-0']);
    const changeRequests = { identifier: 'srv1', at: '2026-01-01T00:00:00Z' };
    const planned = planOf(set, [showing({ changeRequests })]);
    expect([does(planned), ready(planned)?.reason]).toEqual([[], 'MemberBlocked']);
  });

  it('is neither changed nor replaced if its own disk is larger', () => {
    const larger = {
      ...webSet({ replicas: 1, spec: { changePolicy: 'Online', product: 'VPSX4', diskSize: 20480 } }),
      status: { revisions },
    };
    const planned = own({ diskSize: 40960 }, larger);
    expect(does(planned)).toEqual([]);
    expect(ready(planned)?.message).toContain('because this member has spec.diskSize 40960');
  });

  /** The set after these templates, one after the other, as its status keeps them, while it was paused. */
  const after = (...templates: Partial<VirtualServerSpec>[]): VirtualServerSet => {
    let later = before;
    for (const spec of [{ product: 'VPSX4' }, ...templates]) {
      later = webSet({ replicas: 1, paused: true, spec: { changePolicy: 'Online', ...spec } }, later);
      later = { ...later, status: planOf(later, []).status };
    }
    return { ...later, spec: { ...later.spec, paused: false } };
  };
  const TEN = Array.from({ length: 10 }, (_, index) => ({ product: `VPSX${index + 16}` }));

  it('gets the new product and keeps its own larger disk', () => {
    expect(does(own({ diskSize: 40960 }, after({ product: 'VPSX8' })))).toEqual(['change web-0']);
  });

  it.each([
    ['after ten other templates', after(...TEN, { product: 'VPSX8' })],
    ['by a set that was created again with the new product', webSet({ replicas: 1, spec: ONLINE })],
  ])('is not replaced for its own larger disk %s', (_when, given) => {
    const planned = own({ diskSize: 40960 }, given);
    expect([does(planned), ready(planned)?.reason]).toEqual([[], 'MemberBlocked']);
    expect(ready(planned)?.message).toContain('because this member has spec.diskSize 40960, unlike the template');
    expect(ready(planned)?.message).toContain('run `kubectl delete vps web-0 -n default`');
  });

  it.each<[string, VirtualServerSet, Partial<VirtualServerSpec>, boolean]>([
    [
      'the template forbids changes in place',
      webSet({ replicas: 1, spec: { ...ONLINE, changePolicy: 'Never' } }),
      {},
      true,
    ],
    ['another field never changes in place', webSet({ replicas: 1, spec: ONLINE }), { image: 'old/image' }, true],
    ['an earlier template had that disk', after({ diskSize: 40960 }, { product: 'VPSX8' }), {}, false],
  ])('is replaced for its larger disk if %s', (_why, given, others, isOfSet) => {
    const shape = isOfSet ? {} : { spec: { diskSize: 40960, product: 'VPSX32' } };
    const object = member(before, 0, { ...shape, changed: { diskSize: 40960, ...others }, price: 1 });
    expect(does(planOf(given, [object]))).toContain('create web-1');
  });

  it('is replaced if no set has created it', () => {
    const object = member(before, 0, { changed: { diskSize: 40960 }, price: 1 });
    const adopted = { ...object, metadata: { ...object.metadata, annotations: {} } };
    expect(does(planOf(webSet({ replicas: 1, spec: ONLINE }), [adopted]))).toContain('create web-1');
  });

  it('is not waited for after it was restored as a new object', () => {
    const object = observed(changed(member(before, 0, { price: 1 }), own({})));
    const restored = {
      ...object,
      metadata: { ...object.metadata, generation: 1 },
      status: { ...object.status, observedGeneration: 1 },
    };
    expect(restored.metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION]).toContain('"changed":2');
    expect(ready(planOf(set, [restored]))?.reason).toBe('Available');
  });
});

describe('a template that goes back', () => {
  type Status = NonNullable<VirtualServer['status']>;
  const OPEN = { identifier: 'srv1', at: '2026-01-01T00:00:00Z' } as const;

  /**
   * A set with this template, and one member that has got the template before it in place; `shows`: what the read of its server has
   * shown since.
   */
  function returning(
    { grown, ...shape }: SetShape & { grown: Partial<VirtualServerSpec> },
    shows: Partial<Status>,
    reason: Reason = 'ChangeRefused',
  ): [VirtualServerSet, VirtualServer] {
    const set = webSet({ replicas: 1, ...shape });
    const { template } = webSet({ replicas: 1, ...shape, spec: { ...shape.spec, ...grown } }).spec;
    const object = member({ ...set, spec: { ...set.spec, template } }, 0, { price: 1 });
    const revisions = [{ revision: shortName(revisionOf(template.spec)), spec: orderedOf(template.spec) }];
    const record = { ...object.status?.record, ...shows.record };
    const status = { ...object.status, ...shows, record } as Status;
    return [{ ...set, status: { revisions } }, pending({ ...object, status }, reason)];
  }

  const GROWN = { changePolicy: 'Online', diskSize: 20480 } as const;
  const BEFORE = { changePolicy: 'Online', diskSize: 10240 } as const;

  it.each<[string, SetShape & { grown: Partial<VirtualServerSpec> }, Partial<Status>, object]>([
    ['a disk that never grew', { spec: BEFORE, grown: GROWN }, { specs: { diskSize: 10240 } }, { diskSize: 10240 }],
    [
      'a disk that never grew, to another size',
      { spec: { ...BEFORE, diskSize: 15360 }, grown: GROWN },
      { specs: { diskSize: 10240 } },
      { diskSize: 15360 },
    ],
    [
      'a product that it never got, without a policy',
      { spec: { product: 'VPSX4' }, grown: { product: 'VPSX8' } },
      { product: 'VPSX4' },
      { product: 'VPSX4' },
    ],
    [
      'a device that it never got, where no member may be unavailable',
      { spec: { changePolicy: 'AllowStop' }, grown: { advanced: { tablet: false } } },
      { advanced: { tablet: true } },
      { advanced: null },
    ],
    [
      'one of two devices',
      {
        spec: { changePolicy: 'AllowStop', advanced: { tablet: true } },
        grown: { advanced: { tablet: true, diskBus: 'sata' } },
      },
      { advanced: { tablet: true, diskBus: 'virtio' } },
      { advanced: { tablet: true, diskBus: null } },
    ],
  ])('takes %s back without a new server', (_what, shape, shows, spec) => {
    const [set, object] = returning(shape, shows);
    const planned = planOf(set, [object]);
    expect(does(planned)).toEqual(['change web-0']);
    expect(planned.actions).toMatchObject([{ patch: { spec } }]);
    const { status } = observed(changed(object, planned));
    const conditions = status?.conditions?.filter(({ type }) => type !== 'ChangePending');
    const after = observed(changed(object, planned));
    const next = planOf(set, [{ ...after, status: { ...after.status, conditions } }]);
    expect([does(next), ready(next)?.reason]).toEqual([[], 'Available']);
  });

  it.each<[string, SetShape & { grown: Partial<VirtualServerSpec> }, Partial<Status>]>([
    ['a disk that has grown', { spec: BEFORE, grown: GROWN }, { specs: { diskSize: 20480 } }],
    ['a product that it got, without a policy', { spec: {}, grown: { product: 'VPSX8' } }, { product: 'VPSX8' }],
    ['a disk of which nothing is known', { spec: BEFORE, grown: GROWN }, {}],
    [
      'an image too',
      { spec: { ...BEFORE, image: 'other' }, grown: { ...GROWN, image: 'x' } },
      { specs: { diskSize: 10240 } },
    ],
  ])('replaces a member with %s', (_what, shape, shows) => {
    expect(does(planOf(...asList(returning(shape, shows))))).toEqual(['create web-1']);
  });

  it('waits while the change may be under way, and tells it', () => {
    const [set, object] = returning(
      { spec: BEFORE, grown: GROWN },
      { specs: { diskSize: 10240 }, record: { changeRequests: OPEN } },
      'Changing',
    );
    const planned = planOf(set, [object]);
    expect([does(planned), ready(planned)?.reason]).toEqual([[], 'RollingOut']);
    expect(ready(planned)?.message).toContain('waiting for the end of an earlier change of web-0');
    const shown = { ...object, status: { ...object.status, specs: { diskSize: 20480 } } };
    expect(does(planOf(set, [shown]))).toEqual(['create web-1']);
  });

  it('asks for you if the change that may be under way waits for you', () => {
    const [set, object] = returning(
      { spec: BEFORE, grown: GROWN },
      { specs: { diskSize: 10240 }, record: { changeRequests: OPEN } },
      'RestartPending',
    );
    const planned = planOf(set, [object]);
    expect([does(planned), ready(planned)?.reason]).toEqual([[], 'MemberBlocked']);
    expect(ready(planned)?.message).toContain('web-0 is RestartPending: It is RestartPending');
    expect(ready(planned)?.message).toContain('kubectl delete vps web-0');
  });
});

const asList = ([set, object]: [VirtualServerSet, VirtualServer]): [VirtualServerSet, VirtualServer[]] => [
  set,
  [object],
];

describe('the power in the template', () => {
  it('reaches all members at once, without a new server', () => {
    const set = webSet({ spec: { power: 'Off' } });
    const planned = planOf(set, membersOf(webSet(), [NEW, NEW, NEW]));
    expect(does(planned)).toEqual(['update web-0', 'update web-1', 'update web-2']);
    for (const action of planned.actions) expect(action).toMatchObject({ patch: { spec: { power: 'Off' } } });
  });

  it('leaves members that are off on purpose available', () => {
    const off: MemberShape = { reason: 'PoweredOff', price: 1 };
    expect(ready(plan({ spec: { power: 'Off' } }, [off, off, off]))).toMatchObject({
      status: 'True',
      reason: 'Available',
    });
  });
});
