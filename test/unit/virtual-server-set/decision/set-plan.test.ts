import { describe, expect, it } from 'vitest';
import {
  MEMBER_DELETE_FIRST_ANNOTATION,
  MEMBER_TEMPLATE_ANNOTATION,
  PAUSED_ANNOTATION,
  SET_LABEL,
  RECORD_ANNOTATION,
  START_OVER_ANNOTATION,
} from '../../../../src/api/names.ts';
import { formatRecord } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { setStatusSchema, type VirtualServerSet } from '../../../../src/api/virtual-server-set.ts';
import { reasonPage } from '../../../../src/api/documentation.ts';
import { planSet, type SetPlan } from '../../../../src/virtual-server-set/decision/set-plan.ts';
import { decide, facts, HELD, web } from '../../../fixtures/decision.ts';
import { member, NOW, webSet, type MemberShape, type SetShape } from '../../../fixtures/virtual-server-set.ts';
import { CUT_SSH_KEY, stored } from '../../../fixtures/virtual-server.ts';

const OLD: MemberShape = { spec: { image: 'old/image' } };

/** The plan for a set whose members have these shapes, from ordinal 0 on; `undefined` leaves an ordinal free. */
function plan(shape: SetShape, members: (MemberShape | undefined)[] = [], others: VirtualServer[] = []): SetPlan {
  const set = webSet(shape);
  const objects = members.flatMap((given, ordinal) => (given === undefined ? [] : [member(set, ordinal, given)]));
  return planSet(set, { objects: [...objects, ...others], live: true }, NOW);
}

const does = ({ actions }: SetPlan): string[] =>
  actions.map((action) => `${action.type} ${action.type === 'create' ? action.manifest.metadata.name : action.name}`);
const reasonOf = ({ status }: SetPlan): string | undefined =>
  status.conditions?.find(({ type }) => type === 'Ready')?.reason;
const messageOf = ({ status }: SetPlan): string =>
  status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';

describe('the page that the message of a set ends with', () => {
  const lost: MemberShape = { reason: 'CreateOutcomeUnknown', message: 'Lost' };
  const gone: MemberShape = { reason: 'ServerMissing', message: 'Gone' };
  const silent: MemberShape = { reason: 'Unreachable', message: 'Silent' };
  const wrong: MemberShape = { reason: 'InvalidSpec', message: 'Wrong', ordered: false };
  const kept: MemberShape = { spec: { deletionProtection: true } };

  it.each<[string, string, SetShape, MemberShape[], string]>([
    ['MemberUnresolved', 'its unresolved member', { replicas: 2 }, [{}, lost], 'CreateOutcomeUnknown'],
    ['MemberBlocked', 'its blocked member', { replicas: 2 }, [{}, wrong], 'InvalidSpec'],
    ['MembersUnavailable', 'its unavailable member', { replicas: 2 }, [{}, gone], 'ServerMissing'],
    ['Scaling', 'the member that it waits for', { replicas: 2 }, [silent], 'Unreachable'],
    ['DeletionBlocked', 'its own reason', { replicas: 0 }, [kept], 'DeletionBlocked'],
  ])('of %s is that of %s', (reason, _whose, shape, members, page) => {
    const planned = plan(shape, members);
    expect(reasonOf(planned)).toBe(reason);
    expect(messageOf(planned).match(/See \S+/g)).toEqual([`See ${reasonPage(page)}`]);
    expect(messageOf(planned)).toMatch(/See \S+$/);
  });
});

describe('the order in which a cache has the members', () => {
  const lost: MemberShape = { reason: 'CreateOutcomeUnknown', message: 'Lost' };
  const gone: MemberShape = { reason: 'ServerMissing', message: 'Gone' };
  const wrong: MemberShape = { reason: 'InvalidSpec', message: 'Wrong', ordered: false };
  const kept: MemberShape = { spec: { deletionProtection: true } };
  const slow: MemberShape = { reason: 'Creating', message: 'Starting' };
  const OLDER: MemberShape = { spec: { image: 'older/image' } };

  it.each<[string, SetShape, MemberShape[], string]>([
    [
      'unresolved ones',
      { replicas: 3 },
      [lost, lost, lost],
      'web-0 is CreateOutcomeUnknown: Lost. Also unresolved: web-1, web-2',
    ],
    ['blocked ones', { replicas: 3 }, [wrong, wrong, wrong], 'web-0 is InvalidSpec: Wrong. Also blocked: web-1, web-2'],
    ['unavailable ones', { replicas: 3 }, [gone, gone, gone], 'web-0 is ServerMissing: Gone.'],
    ['new ones', { replicas: 3 }, [slow, slow, slow], 'waiting for web-0, web-1, web-2 to become available'],
    ['protected ones', { replicas: 0 }, [kept, kept, kept], 'The same is true of'],
    ['ones with several earlier templates', { replicas: 3 }, [OLD, OLDER, OLD], '3 members to replace'],
  ])('changes nothing in the plan for %s', (_what, shape, shapes, message) => {
    const set = webSet(shape);
    const objects = shapes.map((given, ordinal) => member(set, ordinal, given));
    const released = [3, 4].map((ordinal) => {
      const object = member(set, ordinal);
      return { ...object, metadata: { ...object.metadata, labels: {} } };
    });
    const all = [...objects, ...released];
    const [first, ...others] = [all, all.toReversed(), [...all.slice(2), ...all.slice(0, 2)]].map((given) =>
      planSet(set, { objects: given, live: true }, NOW),
    );
    expect(first && messageOf(first)).toContain(message);
    for (const other of others) expect(other).toEqual(first);
  });
});

describe('scaling up', () => {
  it('creates the lowest free ordinals', () => {
    expect(does(plan({ replicas: 3 }, [undefined, {}]))).toEqual(['create web-0', 'create web-2']);
  });

  it('creates and deletes nothing from a cache, but asks for a live list', () => {
    const set = webSet({ replicas: 2 });
    const { look, actions } = planSet(set, { objects: [member(set, 0, OLD)], live: false }, NOW);
    expect([look, actions]).toEqual([true, []]);
  });

  it('counts each server that a record has lost', () => {
    const lost = plan({ replicas: 2, maxSurge: 1 }, [{ orphans: 2 }]);
    expect([does(lost), reasonOf(lost)]).toEqual([[], 'MemberUnresolved']);
    expect(messageOf(lost)).toContain('web-0');
  });

  it('creates at most what the pool allows while higher ordinals are left', () => {
    const set = webSet({ replicas: 3, maxSurge: 1, spec: { image: 'new/image' } });
    const objects = [7, 8, 9].map((ordinal) => member(set, ordinal, OLD));
    expect(does(planSet(set, { objects, live: true }, NOW))).toEqual(['create web-0']);
  });

  it.each<[string, MemberShape]>([
    ['are not ready', { ...OLD, reason: 'Creating' }],
    ['are being deleted', { ...OLD, deleting: true }],
  ])('counts the servers of members that %s', (_, shape) => {
    const set = webSet({ replicas: 3, maxSurge: 1, spec: { image: 'new/image' } });
    const objects = [7, 8, 9].map((ordinal) => member(set, ordinal, shape));
    expect(does(planSet(set, { objects, live: true }, NOW))).toEqual(['create web-0']);
  });

  it('adopts no object in place of a server that a record has lost', () => {
    const set = webSet({ replicas: 2 });
    const { metadata, ...orphan } = member(set, 1);
    const unowned = { ...orphan, metadata: { ...metadata, ownerReferences: [] } };
    const full = planSet(set, { objects: [member(set, 0, { orphans: 1 }), unowned], live: true }, NOW);
    expect(does(full)).toEqual([]);
    const free = planSet(set, { objects: [member(set, 0), unowned], live: true }, NOW);
    expect(does(free)).toEqual(['adopt web-1']);
  });

  it.each(['CreateOutcomeUnknown', 'TaskNotFound', 'RecordConflict', 'IdentityUnproven'] as const)(
    'stops while a member is %s',
    (reason) => {
      const stopped = plan({ replicas: 3 }, [{ reason, message: 'Run `kubectl annotate vps web-0 x=y`' }]);
      expect(does(stopped)).toEqual([]);
      expect(reasonOf(stopped)).toBe('MemberUnresolved');
      expect(messageOf(stopped)).toContain(`web-0 is ${reason}: Run \`kubectl annotate vps web-0 x=y\``);
      expect(stopped.status.unresolvedReplicas).toBe(1);
    },
  );

  it.each<[string, MemberShape, boolean]>([
    ['with an earlier template, how to give it up', { ...OLD, reason: 'CreateOutcomeUnknown' }, true],
    ['with the present template, nothing of the kind', { reason: 'CreateOutcomeUnknown' }, false],
    ['with an earlier template that may run, nothing of the kind', { ...OLD, reason: 'TaskNotFound' }, false],
  ])('says of an unresolved member %s', (_case, shape, isSaid) => {
    const command = 'run `kubectl delete vps web-0 -n default --wait=false` first';
    expect(messageOf(plan({ replicas: 1 }, [shape])).includes(command)).toBe(isSaid);
  });

  it('stops while a member has the record of another object, until you let it start over', () => {
    const copied = { [RECORD_ANNOTATION]: formatRecord({ owner: 'uid-of-another', mode: 'create', attempt: 'a1' }) };
    const copy = { reason: 'RecordMismatch', ordered: false } as const;
    expect(reasonOf(plan({ replicas: 2 }, [{ ...copy, annotations: copied }]))).toBe('MemberUnresolved');
    const told = { ...copied, [START_OVER_ANNOTATION]: member(webSet(), 0).metadata.uid };
    const startsOver = plan({ replicas: 2 }, [{ reason: 'Pending', ordered: false, annotations: told }]);
    expect([does(startsOver), startsOver.status.unresolvedReplicas]).toEqual([['create web-1'], 0]);
  });

  it('stops while the answer to an order may still arrive, without asking you', () => {
    const flying = plan({ replicas: 3 }, [{ reason: 'CreateInFlight' }]);
    expect([does(flying), reasonOf(flying), flying.status.unresolvedReplicas]).toEqual([[], 'Scaling', 1]);
    expect(messageOf(flying)).toContain(
      'waiting for web-0 to become available. The set orders nothing until the outcome of web-0 is known',
    );
    expect(reasonOf(plan({ replicas: 3 }, [{ reason: 'CreateInFlight' }, { reason: 'TaskNotFound' }]))).toBe(
      'MemberUnresolved',
    );
  });

  it('stops while a member cannot be ordered, and reports why', () => {
    const blocked = plan({ replicas: 3 }, [
      { reason: 'InvalidSpec', message: 'spec.image x is not offered', ordered: false },
    ]);
    expect([does(blocked), reasonOf(blocked)]).toEqual([[], 'MemberBlocked']);
    expect(messageOf(blocked)).toContain(
      'web-0 is InvalidSpec: spec.image x is not offered. To correct spec.template, run `kubectl edit vpsset web -n default`.',
    );
  });

  it('replaces no member while the template has an SSH key that sshd does not accept, but still scales down', () => {
    const cut = { maxSurge: 0, maxUnavailable: 1, spec: { sshKeys: [CUT_SSH_KEY] } };
    const refused = plan({ replicas: 2, ...cut }, [OLD, OLD]);
    expect([does(refused), reasonOf(refused)]).toEqual([[], 'MemberBlocked']);
    expect(messageOf(refused)).toContain('No member can be ordered from spec.template: spec.sshKeys[0] ');
    expect(messageOf(refused)).toContain('To correct spec.template, run `kubectl edit vpsset web -n default`.');
    expect(does(plan({ replicas: 1, ...cut, maxUnavailable: 0, maxSurge: 1 }, [OLD, OLD, OLD]))).toEqual([
      'delete web-2',
    ]);
  });

  it('continues while members wait for the create limit', () => {
    expect(does(plan({ replicas: 2 }, [{ reason: 'CreateLimit', ordered: false }]))).toEqual(['create web-1']);
  });

  const waiting: MemberShape = { reason: 'CreateLimit', message: 'The namespace has its limit', ordered: false };
  const paused: MemberShape = { reason: 'Pending', annotations: { [PAUSED_ANNOTATION]: 'true' } };

  it.each<[string, SetPlan, string, string]>([
    [
      'while it scales',
      plan({ replicas: 2 }, [waiting]),
      'Scaling',
      'web-0 is CreateLimit: The namespace has its limit.',
    ],
    [
      'in a rollout',
      plan({ replicas: 1, spec: { image: 'new/image' } }, [OLD, waiting]),
      'RollingOut',
      'web-1 is CreateLimit: The namespace has its limit.',
    ],
    [
      'for a pause',
      plan({ replicas: 1 }, [paused]),
      'Scaling',
      'web-0 waits: it is paused. To continue web-0, run `kubectl annotate vps web-0 -n default vps-operator.dev/paused-`',
    ],
  ])('says what a member waits for %s', (_case, planned, reason, text) => {
    expect(reasonOf(planned)).toBe(reason);
    expect(messageOf(planned)).toContain(text);
  });

  it('says which objects have its names if none is left', () => {
    const taken = plan({ replicas: 1, maxSurge: 0, maxUnavailable: 1 }, [], [stored('web-0')]);
    expect([does(taken), reasonOf(taken)]).toEqual([[], 'NameTaken']);
    expect(messageOf(taken)).toContain('`kubectl label --overwrite vps web-0 -n default vps-operator.dev/set=web`');
  });

  it('waits for the cancellation of an object that leaves one of its names', () => {
    const leaving = ['web-0', 'web-1'].map((name) => {
      const object = stored(name);
      return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } };
    });
    const waiting = plan({ replicas: 1 }, [], leaving);
    expect([does(waiting), reasonOf(waiting)]).toEqual([[], 'Scaling']);
    expect(messageOf(waiting)).toContain('waiting for the cancellation of web-0, web-1');
  });

  it('names those that are cancelled in one order, however they leave', () => {
    const deletionTimestamp = '2026-01-02T00:00:00Z';
    const deleted = (object: VirtualServer): VirtualServer => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp },
    });
    const set = webSet({ replicas: 3 });
    const objects = [member(set, 0), deleted(member(set, 10)), deleted(member(set, 2)), deleted(stored('web-1'))];
    const waiting = planSet(set, { objects, live: true }, NOW);
    expect(messageOf(waiting)).toContain('waiting for the cancellation of web-1, web-2, web-10');
  });

  it('takes at most 100 actions in one step', () => {
    expect(plan({ replicas: 1000 }).actions).toHaveLength(100);
  });
});

describe('scaling down', () => {
  const age = (ageSeconds: number): MemberShape => ({ ageSeconds });

  it.each([
    ['Newest', 'web-1'],
    ['Oldest', 'web-0'],
  ] as const)('deletes the %s first', (order, name) => {
    expect(does(plan({ replicas: 2, scaleDown: { order } }, [age(300), age(100), age(200)]))).toEqual([
      `delete ${name}`,
    ]);
  });

  it('names exactly the version that it has seen', () => {
    expect(plan({ replicas: 0 }, [{}]).actions).toEqual([
      { type: 'delete', name: 'web-0', uid: 'uid-of-web-0', resourceVersion: '1' },
    ]);
  });

  it('counts what one step deletes', () => {
    const marked = { annotations: { [MEMBER_DELETE_FIRST_ANNOTATION]: 'true' } };
    expect(does(plan({ replicas: 2 }, [marked, marked, marked, { reason: 'Unreachable' }]))).toEqual(['delete web-2']);
  });

  it('continues while a member is unresolved', () => {
    expect(does(plan({ replicas: 1 }, [{}, { reason: 'CreateOutcomeUnknown' }]))).toEqual(['delete web-1']);
  });

  it.each<[string, MemberShape, string]>([
    ['protected', { spec: { deletionProtection: true } }, `-p '{"spec":{"deletionProtection":false}}'`],
    ['retained', { spec: { deletionPolicy: 'Retain' } }, `-p '{"spec":{"deletionPolicy":"Delete"}}'`],
    ['paused', { annotations: { [PAUSED_ANNOTATION]: 'true' } }, `vps-operator.dev/paused-`],
  ])('takes others before a %s member, and never that one', (_case, shape, command) => {
    expect(does(plan({ replicas: 1 }, [age(300), { ...shape, ...age(100) }]))).toEqual(['delete web-0']);
    const kept = plan({ replicas: 0 }, [shape]);
    expect([does(kept), reasonOf(kept)]).toEqual([[], 'DeletionBlocked']);
    expect(messageOf(kept)).toContain(command);
  });
});

describe('a template of which only spaces around a key change', () => {
  const [key = ''] = webSet().spec.template.spec.sshKeys ?? [];
  const spaced = { sshKeys: [`${key} `] };
  /** The set after its template lost the space, and its member from before that. */
  const after = (shape: SetShape, changed: Partial<VirtualServerSpec> = {}): SetPlan => {
    const earlier = webSet({ replicas: 1, ...shape, spec: { ...shape.spec, ...spaced } });
    const objects = [member(earlier, 0, { price: 1, changed })];
    const set = webSet(
      { replicas: 1, ...shape },
      { ...earlier, status: planSet(earlier, { objects, live: true }, NOW).status },
    );
    return planSet(set, { objects, live: true }, NOW);
  };

  it.each(['Never', 'Online', 'AllowStop'] as const)(
    'replaces no member, because no order sends them: %s',
    (changePolicy) => {
      const planned = after({ spec: { changePolicy } });
      expect([does(planned), reasonOf(planned), planned.status.updatedReplicas]).toEqual([[], 'Available', 1]);
    },
  );

  it('replaces no member of a set that does not know the earlier template', () => {
    const set = webSet({ replicas: 1 });
    const planned = planSet(set, { objects: [member(set, 0, { spec: spaced, price: 1 })], live: true }, NOW);
    expect([does(planned), planned.status.updatedReplicas]).toEqual([[], 1]);
  });

  it('replaces no member to which a policy has added a key', () => {
    const planned = after({}, { sshKeys: [`${key} `, CUT_SSH_KEY] });
    expect([does(planned), reasonOf(planned)]).toEqual([[], 'Available']);
  });
});

describe('a template that keeps servers, before it is written to the members', () => {
  const before = (shape: SetShape): VirtualServer[] => [0, 1].map((ordinal) => member(webSet(shape), ordinal));
  const planned = (shape: SetShape, members: VirtualServer[]): SetPlan =>
    planSet(webSet({ replicas: 1, ...shape }), { objects: members, live: true }, NOW);

  it.each<[Partial<VirtualServerSpec>, string, string]>([
    [
      { deletionProtection: true },
      'DeletionBlocked',
      `-p '{"spec":{"template":{"spec":{"deletionProtection":false}}}}'`,
    ],
    [
      { deletionPolicy: 'Retain' },
      'DeletionBlocked',
      `-p '{"spec":{"template":{"spec":{"deletionPolicy":"Delete"}}}}'`,
    ],
    [{ deletionDelay: '24h' }, 'Scaling', 'waiting for the longer deletionDelay of web-1'],
  ])('lets none of them be deleted: %j', (spec, reason, message) => {
    const kept = planned({ spec }, before({}));
    expect([does(kept), reasonOf(kept)]).toEqual([['update web-0', 'update web-1'], reason]);
    expect(messageOf(kept)).toContain(message);
  });

  it('lets a member be deleted that you have changed since', () => {
    const shape = { spec: { deletionProtection: true, deletionPolicy: 'Retain' as const, deletionDelay: '24h' } };
    const members = before(shape).map((object) => ({
      ...object,
      spec: { ...object.spec, deletionProtection: false, deletionPolicy: 'Delete' as const, deletionDelay: '1h' },
    }));
    expect(does(planned(shape, members))).toEqual(['delete web-1']);
  });

  it.each<[Partial<VirtualServerSpec>, Partial<VirtualServerSpec>]>([
    [{ deletionDelay: '24h' }, { deletionDelay: '1h' }],
    [{ deletionDelay: '24h' }, {}],
  ])('waits for no shorter delay: %j, then %j', (earlier, later) => {
    expect(does(planned({ spec: later }, before({ spec: earlier })))).toContain('delete web-1');
  });
});

describe('a member whose object is the last that names its server', () => {
  /** Restored from a backup as a new object: its record is of the object that it was. */
  const restored: MemberShape = {
    reason: 'RecordMismatch',
    message: 'Run `kubectl vps adopt`',
    ordered: false,
    annotations: {
      [RECORD_ANNOTATION]: formatRecord({
        owner: 'uid-before',
        mode: 'create',
        attempt: 'a1',
        task: 1,
        identifier: 'srv1',
      }),
    },
  };
  const running: MemberShape = { price: 1 };

  it('is let go without a call to the provider when it is deleted', () => {
    const operation = decide(web({ annotated: { ...HELD, owner: 'uid-before' }, deleting: true }), facts());
    expect(operation).toMatchObject({ type: 'release', why: 'foreign' });
  });

  it.each<[string, MemberShape]>([
    ['without its finalizer', restored],
    ['with its finalizer', { ...restored, finalizer: true }],
  ])('is not deleted while the record is that of another object, %s', (_case, shape) => {
    const kept = plan({ replicas: 2 }, [running, running, shape]);
    expect([does(kept), reasonOf(kept)]).toEqual([[], 'MemberUnresolved']);
    expect(messageOf(kept)).toContain('web-2 is RecordMismatch: Run `kubectl vps adopt`');
    expect(does(plan({ replicas: 1 }, [running, running, shape]))).toEqual(['delete web-1']);
    expect(does(plan({ replicas: 0 }, [shape, shape]))).toEqual([]);
    const first = { ...shape.annotations, [MEMBER_DELETE_FIRST_ANNOTATION]: 'true' };
    expect(does(plan({ replicas: 1 }, [running, { ...shape, annotations: first }]))).toEqual([]);
  });

  it('costs no other member its server', () => {
    const shape = { replicas: 1, maxUnavailable: 1 };
    expect(does(plan(shape, [running, restored]))).toEqual([]);
    expect(does(plan(shape, [running, { ...running, finalizer: false }]))).toEqual([]);
  });

  it('is not deleted before the operator has seen that it was restored', () => {
    const kept = plan({ replicas: 0 }, [{ ...restored, reason: 'Available' }]);
    expect([does(kept), reasonOf(kept)]).toEqual([[], 'Scaling']);
  });

  it('is deleted once you let it start with a new record', () => {
    const told = { ...restored.annotations, [START_OVER_ANNOTATION]: member(webSet(), 0).metadata.uid };
    expect(does(plan({ replicas: 0 }, [{ ...restored, reason: 'Pending', annotations: told }]))).toEqual([
      'delete web-0',
    ]);
  });

  it('is not deleted while the operator has yet to add its finalizer again', () => {
    const naked: MemberShape = { ...running, finalizer: false };
    const kept = plan({ replicas: 1 }, [running, naked]);
    expect([does(kept), reasonOf(kept)]).toEqual([[], 'Scaling']);
    expect(messageOf(kept)).toContain('waiting for the finalizer of web-1');
  });

  it.each(['RecordConflict', 'CreateOutcomeUnknown', 'CreateInFlight', 'TaskNotFound'] as const)(
    'is not deleted without its finalizer while it is %s',
    (reason) => {
      const shape = { reason, ordered: true, finalizer: false };
      expect(does(plan({ replicas: 0 }, [shape]))).toEqual([]);
      expect(does(plan({ replicas: 0 }, [{ ...shape, finalizer: true }]))).toEqual(['delete web-0']);
    },
  );

  it('is not deleted without its finalizer while its record cannot be read', () => {
    const broken = { reason: 'RecordInvalid', annotations: { [RECORD_ANNOTATION]: '{' } } as const;
    expect(does(plan({ replicas: 0 }, [{ ...broken, ordered: false }]))).toEqual([]);
  });
});

it('names the members that it must not delete in one order, whichever of them is available', () => {
  const kept: MemberShape = { spec: { deletionProtection: true } };
  const away: MemberShape = { ...kept, reason: 'ServerMissing' };
  const messages = [
    [kept, kept, kept],
    [kept, away, kept],
    [kept, kept, away],
  ].map((members) => messageOf(plan({ replicas: 1 }, members)));
  expect(messages[0]).toMatch(/cannot delete member web-\d: /);
  expect(messages).toEqual([messages[0], messages[0], messages[0]]);
});

describe('a rollout', () => {
  const NEW: SetShape = { spec: { image: 'new/image' } };

  it('creates maxSurge members first, and deletes none before they are available', () => {
    expect(does(plan({ ...NEW, replicas: 3 }, [OLD, OLD, OLD]))).toEqual(['create web-3']);
    expect(does(plan({ ...NEW, replicas: 3 }, [OLD, OLD, OLD, { reason: 'Creating' }]))).toEqual([]);
    expect(does(plan({ ...NEW, replicas: 3 }, [OLD, OLD, OLD, {}]))).toEqual(['delete web-2']);
  });

  it('names the member that it must not delete if nothing else can make room', () => {
    const retained = {
      spec: { ...OLD.spec, deletionPolicy: 'Retain' },
      reason: 'InvalidSpec',
      ordered: false,
    } as const;
    const stuck = plan({ ...NEW, replicas: 2 }, [retained, OLD, {}]);
    expect([does(stuck), reasonOf(stuck)]).toEqual([[], 'DeletionBlocked']);
    expect(messageOf(stuck)).toContain('cannot delete member web-0');
    expect(reasonOf(plan({ ...NEW, replicas: 2 }, [retained, OLD, { reason: 'Creating' }]))).toBe('RollingOut');
  });

  it('without surge deletes maxUnavailable members first', () => {
    const shape = { ...NEW, replicas: 3, maxSurge: 0, maxUnavailable: 2 };
    expect(does(plan(shape, [OLD, OLD, OLD]))).toEqual(['delete web-2', 'delete web-1']);
  });

  it('stops after maxSurge members that do not get ready, although others are not available either', () => {
    const silent = { reason: 'Unreachable' as const };
    const dead = { ...OLD, reason: 'ServerMissing' as const };
    const bad = plan({ ...NEW, replicas: 3 }, [OLD, OLD, dead, silent]);
    expect([does(bad), reasonOf(bad)]).toEqual([[], 'RollingOut']);
  });

  it('waits for minReadySeconds', () => {
    const shape = { ...NEW, replicas: 1, minReadySeconds: 60 };
    const old = { ...OLD, forSeconds: 600 };
    const early = plan(shape, [old, { forSeconds: 45 }]);
    expect([does(early), early.afterMs]).toEqual([[], 15_000]);
    expect(does(plan(shape, [old, { forSeconds: 60 }]))).toEqual(['delete web-0']);
  });

  it('needs no clock without minReadySeconds: another replica may have written the time', () => {
    const ahead = plan({ ...NEW, replicas: 1 }, [{ forSeconds: -3600 }]);
    expect([reasonOf(ahead), ahead.status.availableReplicas]).toEqual(['Available', 1]);
    expect(does(plan({ ...NEW, replicas: 1 }, [OLD, { forSeconds: -3600 }]))).toEqual(['delete web-0']);
  });

  it('still scales down while a member is unresolved', () => {
    const unknown = { reason: 'CreateOutcomeUnknown' as const };
    expect(does(plan({ ...NEW, replicas: 1 }, [OLD, OLD, OLD, unknown]))).toEqual(['delete web-3', 'delete web-2']);
    expect(does(plan({ ...NEW, replicas: 0 }, [OLD, unknown]))).toEqual(['delete web-1', 'delete web-0']);
  });

  it('is left to you with OnDelete', () => {
    const shape = { ...NEW, replicas: 2, type: 'OnDelete' } as const;
    const idle = plan(shape, [OLD, OLD]);
    expect([does(idle), reasonOf(idle)]).toEqual([[], 'Available']);
    expect(does(plan(shape, [OLD, { ...OLD, deleting: true }]))).toEqual(['create web-2']);
  });

  it('rounds maxSurge up and maxUnavailable down, and one of them is never 0', () => {
    const five = [OLD, OLD, OLD, OLD, OLD];
    expect(does(plan({ ...NEW, replicas: 5, maxSurge: '30%', maxUnavailable: 0 }, five))).toHaveLength(2);
    expect(does(plan({ ...NEW, replicas: 5, maxSurge: 0, maxUnavailable: '30%' }, five))).toHaveLength(1);
    expect(does(plan({ ...NEW, replicas: 5, maxSurge: '0%', maxUnavailable: '10%' }, five))).toHaveLength(1);
  });

  it('keeps a member whose order a policy or you changed, until the template changes', () => {
    const changed = { changed: { sshKeys: ['ssh-ed25519 AAAA bastion'] } };
    const kept = plan({ replicas: 1 }, [changed]);
    expect([does(kept), reasonOf(kept), kept.status.updatedReplicas]).toEqual([[], 'Available', 1]);
    const old = plan({ replicas: 1 }, [{ ...OLD, ...changed }]);
    expect([does(old), old.status.currentRevision === old.status.updateRevision]).toEqual([['create web-1'], false]);
  });

  it('tells how to continue if a name that it needs is taken', () => {
    const stuck = plan({ ...NEW, replicas: 2 }, [OLD, OLD], [stored('web-2')]);
    expect([does(stuck), reasonOf(stuck)]).toEqual([[], 'NameTaken']);
    expect(messageOf(stuck)).toContain(
      `run \`kubectl patch vpsset web -n default --type merge -p '{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}'\``,
    );
    expect(does(plan({ ...NEW, replicas: 2, maxUnavailable: 1 }, [OLD, OLD], [stored('web-2')]))).toEqual([
      'delete web-1',
    ]);
  });
});

describe('membership', () => {
  const orphan = (name: string, changes: Partial<VirtualServer['metadata']> = {}): VirtualServer => {
    const object = stored(name);
    return { ...object, metadata: { ...object.metadata, labels: { [SET_LABEL]: 'web' }, ...changes } };
  };

  it('adopts orphans with its label before it creates, up to replicas', () => {
    const orphans = ['web-5', 'web-1', 'web-3'].map((name) => orphan(name));
    expect(does(plan({ replicas: 3 }, [{}], orphans))).toEqual(['adopt web-1', 'adopt web-3']);
    expect(does(plan({ replicas: 1 }, [{}], orphans))).toEqual([]);
  });

  it.each<[string, VirtualServer]>([
    ['another name', orphan('db')],
    ['the name of no ordinal', orphan('web-01')],
    [
      'another controller',
      orphan('web-1', { ownerReferences: [{ kind: 'X', name: 'x', uid: 'x', controller: true }] }),
    ],
    ['no label', { ...orphan('web-1'), metadata: { ...orphan('web-1').metadata, labels: {} } }],
    ['a deletion', orphan('web-1', { deletionTimestamp: '2026-01-02T00:00:00Z' })],
  ])('adopts no object with %s', (_case, object) => {
    expect(does(plan({ replicas: 1, maxSurge: 0, maxUnavailable: 1 }, [{}], [object]))).toEqual([]);
  });

  it('releases a member that has lost its label, and does not count the member', () => {
    const set = webSet({ replicas: 1 });
    const object = member(set, 0);
    const released = { ...object, metadata: { ...object.metadata, labels: {} } };
    expect(does(planSet(set, { objects: [released], live: true }, NOW))).toEqual(['release web-0', 'create web-1']);
  });
});

describe('an idle set', () => {
  it('does nothing while it is paused, and reports the pause', () => {
    const paused = plan({ replicas: 3, paused: true, labels: { a: 'b' } }, [OLD]);
    expect(does(paused)).toEqual([]);
    expect(paused.status.conditions?.find(({ type }) => type === 'Paused')).toMatchObject({
      status: 'True',
      reason: 'Paused',
    });
  });

  it('does nothing while it is being deleted', () => {
    const set = webSet({ replicas: 3 });
    const deleting = { ...set, metadata: { ...set.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } };
    const plan = planSet(deleting, { objects: [member(set, 0)], live: true }, NOW);
    expect([does(plan), reasonOf(plan)]).toEqual([[], 'Deleting']);
  });

  it.each<[string, MemberShape, string]>([
    [
      'an unresolved order',
      { reason: 'TaskNotFound', message: 'Resolve it', deleting: true },
      'web-1 is TaskNotFound: Resolve it',
    ],
    [
      'a protection',
      { changed: { deletionProtection: true } },
      'web-1 is not deleted, because spec.deletionProtection is true',
    ],
    [
      'a pause',
      { annotations: { [PAUSED_ANNOTATION]: 'true' }, deleting: true },
      'run `kubectl annotate vps web-1 -n default vps-operator.dev/paused-`',
    ],
  ])('says that its deletion waits for %s', (_case, shape, words) => {
    const set = webSet({ replicas: 2 });
    const deleting = { ...set, metadata: { ...set.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } };
    const objects = [member(set, 0, { deleting: true }), member(set, 1, shape)];
    expect(messageOf(planSet(deleting, { objects, live: true }, NOW))).toContain(words);
  });
});

describe('the status', () => {
  it('counts the members', () => {
    const members = [{ price: 4.5 }, { reason: 'Creating' as const }, { deleting: true, price: 4.7 }, OLD];
    expect(plan({ replicas: 3, spec: { image: 'new/image' } }, members).status).toMatchObject({
      replicas: 3,
      terminatingReplicas: 1,
      readyReplicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
      unavailableReplicas: 1,
      unresolvedReplicas: 0,
      selector: 'vps-operator.dev/set=web',
      price: 9.2,
    });
  });

  it('adds up the prices of the servers that run, in whatever spelling the provider has', () => {
    const set = webSet({ replicas: 4 });
    const [upper, off, gone, done] = [0, 1, 2, 3].map((ordinal) => member(set, ordinal, { price: 1 + ordinal / 10 }));
    const objects = [
      { ...upper, status: { ...upper?.status, serverStatus: 'Running ' } },
      { ...off, status: { ...off?.status, serverStatus: 'stopped' } },
      {
        ...gone,
        status: {
          ...gone?.status,
          record: { owner: gone?.metadata.uid, mode: 'create', missingAt: '2026-01-01T00:00:00Z' },
        },
      },
      // Its server is cancelled, and only the finalizer of something else keeps the object.
      { ...done, metadata: { ...done?.metadata, deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['other'] } },
    ] as VirtualServer[];
    expect(planSet(set, { objects, live: true }, NOW).status.price).toBe(1);
  });

  it('fits the schema', () => {
    const { status } = plan({ replicas: 3, paused: true }, [OLD, { reason: 'CreateOutcomeUnknown' }, {}]);
    expect(setStatusSchema.strict().parse(status)).toEqual(status);
  });

  it('is the same if nothing changes', () => {
    const set = webSet({ replicas: 2 });
    const objects = [member(set, 0), member(set, 1, { reason: 'Creating' })];
    const { status } = planSet(set, { objects, live: false }, NOW);
    expect(planSet({ ...set, status }, { objects, live: false }, NOW + 1000).status).toEqual(status);
    const ready = { objects: [member(set, 0), member(set, 1)], live: false };
    const first = planSet(set, ready, NOW);
    expect(planSet({ ...set, status: first.status }, ready, NOW + 1000)).toEqual({ ...first, look: false });
  });

  it('counts the members in words that fit one and a surplus', () => {
    expect(messageOf(plan({ replicas: 1 }, [{}]))).toBe('1 of 1 members are available');
    expect(messageOf(plan({ replicas: 1 }, [{}, {}, {}]))).toBe('3 members exist, 1 wanted');
  });

  it('gives the command that replaces a member whose server is gone', () => {
    const missing = plan({ replicas: 2 }, [{}, { reason: 'ServerMissing', message: 'Server s1 is gone' }]);
    expect([does(missing), reasonOf(missing)]).toEqual([[], 'MembersUnavailable']);
    const command = 'To replace it, run `kubectl delete vps web-1 -n default`';
    expect(messageOf(missing)).toContain(command);
    const set = webSet({ replicas: 2 });
    const objects = [member(set, 0), member(set, 1, { reason: 'ServerMissing', message: 'Server s1 is gone' })];
    const later = planSet({ ...set, status: missing.status }, { objects, live: false }, NOW + 3_600_000);
    expect(reasonOf(later)).toBe('ProgressDeadlineExceeded');
    expect(messageOf(later)).toMatch(/^No progress for 60 minutes/);
    expect(messageOf(later)).toContain(command);
    expect(messageOf(later)).not.toContain('keeps trying');
  });

  it('is Stalled after progressDeadlineSeconds without progress', () => {
    const at = (set: VirtualServerSet, now: number): SetPlan =>
      planSet(set, { objects: [member(set, 0, { reason: 'Creating' })], live: false }, now);
    const set = webSet({ replicas: 1, progressDeadlineSeconds: 600 });
    const first = at(set, NOW);
    expect([reasonOf(first), first.afterMs]).toEqual(['Scaling', 600_000]);
    const later = { ...set, status: first.status };
    expect(reasonOf(at(later, NOW + 599_000))).toBe('Scaling');
    const overdue = at(later, NOW + 600_000);
    expect(reasonOf(overdue)).toBe('ProgressDeadlineExceeded');
    expect(overdue.status.conditions?.some(({ type }) => type === 'Stalled')).toBe(true);
  });

  it('counts the deadline from now if the last progress lies ahead', () => {
    const set = webSet({ replicas: 1 });
    const seen = { objects: [member(set, 0, { reason: 'Creating' })], live: true };
    const { status } = planSet(set, seen, NOW);
    const ahead = { ...set, status: { ...status, lastProgressTime: new Date(NOW + 86_400_000).toISOString() } };
    const next = { ...set, status: planSet(ahead, seen, NOW).status };
    expect(reasonOf(planSet(next, seen, NOW + 3_599_000))).toBe('Scaling');
    expect(reasonOf(planSet(next, seen, NOW + 3_600_000))).toBe('ProgressDeadlineExceeded');
  });

  it('counts the deadline of a set that was complete from the loss of its member', () => {
    const set = webSet({ replicas: 1, progressDeadlineSeconds: 600 });
    const complete = planSet(set, { objects: [member(set, 0)], live: false }, NOW).status;
    const lost = [member(set, 0, { reason: 'Unreachable' })];
    const plan = planSet({ ...set, status: complete }, { objects: lost, live: false }, NOW + 900_000);
    expect(reasonOf(plan)).toBe('MembersUnavailable');
  });

  it('keeps earlier revisions, newest first, each once', () => {
    const images = ['a/a', 'b/b', 'a/a', 'c/c'];
    let set: VirtualServerSet | undefined;
    for (const image of images) {
      set = webSet({ replicas: 0, spec: { image } }, set);
      set = { ...set, status: planSet(set, { objects: [], live: false }, NOW).status };
    }
    expect(set?.status?.revisions?.map(({ spec }) => spec.image)).toEqual(['c/c', 'a/a', 'b/b']);
  });

  it('keeps the revision from before the rollout until it ends', () => {
    const before = webSet({ replicas: 1, spec: { image: 'old/image' } });
    const complete = planSet(before, { objects: [member(before, 0)], live: false }, NOW).status;
    const set = webSet({ replicas: 1, spec: { image: 'new/image' } }, { ...before, status: complete });
    const rolling = planSet(set, { objects: [member(before, 0)], live: false }, NOW).status;
    expect(rolling.currentRevision).toBe(complete.updateRevision);
    expect(rolling.updateRevision).not.toBe(complete.updateRevision);
    const done = planSet({ ...set, status: rolling }, { objects: [member(set, 1)], live: false }, NOW).status;
    expect(done.currentRevision).toBe(rolling.updateRevision);
  });

  it('keeps only as many revisions as fit', () => {
    const sshKeys = Array.from({ length: 16 }, (_, index) => `ssh-ed25519 ${String(index).padEnd(8000, 'A')}`);
    expect(plan({ replicas: 0, spec: { sshKeys } }).status.revisions).toBeUndefined();
  });
});

describe('what the template writes to members that exist', () => {
  const later = (shape: SetShape, member: (set: VirtualServerSet) => VirtualServer): SetPlan => {
    const first = webSet({ replicas: 1 });
    const set = webSet({ replicas: 1, ...shape }, first);
    // Nothing is left to say of it.
    const { status } = planSet(set, { objects: [member(set)], live: true }, NOW);
    return planSet({ ...set, status }, { objects: [member(first)], live: false }, NOW);
  };

  it('is only what has changed in the template', () => {
    const { look, actions } = later({ spec: { sshCheck: 'Proxy' }, labels: { tier: 'web' } }, (set) => member(set, 0));
    expect(look).toBe(false);
    expect(actions).toMatchObject([
      { type: 'update', name: 'web-0', patch: { spec: { sshCheck: 'Proxy' }, metadata: { labels: { tier: 'web' } } } },
    ]);
  });

  it('leaves a protection that you set on the member', () => {
    const edited = (set: VirtualServerSet): VirtualServer => member(set, 0, { spec: { deletionProtection: true } });
    const [action] = later({ spec: { sshCheck: 'Proxy' } }, edited).actions;
    expect(action).toHaveProperty('patch.spec', { sshCheck: 'Proxy' });
    expect(later({}, edited).actions).toEqual([]);
  });

  it('overwrites nothing of an adopted object', () => {
    const adopted = (set: VirtualServerSet): VirtualServer => {
      const object = member(set, 0, { spec: { deletionProtection: true } });
      return { ...object, metadata: { ...object.metadata, annotations: {} } };
    };
    expect(later({}, adopted).actions).toMatchObject([
      { type: 'update', patch: { spec: {}, metadata: { labels: {} } } },
    ]);
  });

  it('removes what the template no longer has', () => {
    const first = webSet({ replicas: 1, labels: { tier: 'web' }, spec: { connectionSecretName: 'login' } });
    const set = webSet({ replicas: 1 }, first);
    const { actions } = planSet(set, { objects: [member(first, 0)], live: false }, NOW);
    expect(actions).toMatchObject([
      { patch: { spec: { connectionSecretName: null }, metadata: { labels: { tier: null } } } },
    ]);
  });

  it('sets owner, labels and the annotation of a new member', () => {
    const [action] = plan({ replicas: 1, labels: { tier: 'web' } }).actions;
    const { metadata } = action?.type === 'create' ? action.manifest : {};
    expect(metadata?.labels).toMatchObject({ tier: 'web', [SET_LABEL]: 'web' });
    expect(Object.keys(metadata?.annotations ?? {})).toEqual([MEMBER_TEMPLATE_ANNOTATION]);
    expect(metadata?.ownerReferences).toEqual([
      {
        apiVersion: 'vps-operator.dev/v1alpha1',
        kind: 'VirtualServerSet',
        name: 'web',
        uid: 'uid-of-set',
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });
});
