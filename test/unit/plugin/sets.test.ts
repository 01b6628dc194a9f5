import { describe, expect, it } from 'vitest';
import { SET_REASONS, type SetReason } from '../../../src/api/conditions.ts';
import { reasonPage } from '../../../src/api/documentation.ts';
import { PAUSED_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { RESTARTED_AT, type Ordered, type VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { setNameOf, targetOf } from '../../../src/plugin/flags/target.ts';
import { changeTo, earlierRevisions } from '../../../src/plugin/state/revisions.ts';
import { fingerprint } from '../../../src/plugin/flags/public-key.ts';
import { nextSteps } from '../../../src/plugin/state/next-steps.ts';
import { screen } from '../../../src/plugin/screens/screen.ts';
import { isComplete, rolloutLine, setProgressLine } from '../../../src/plugin/screens/set-progress.ts';
import { setScreen } from '../../../src/plugin/screens/set-screen.ts';
import { needy, noteOf, setSteps } from '../../../src/plugin/state/set-steps.ts';
import { withCondition, withVerdict } from '../../../src/controller/conditions.ts';
import type { Member } from '../../../src/virtual-server-set/decision/member.ts';
import { planSet } from '../../../src/virtual-server-set/decision/set-plan.ts';
import { groupsOf, situationOf, type Situation } from '../../../src/virtual-server-set/decision/situation.ts';
import { revisionOf } from '../../../src/virtual-server-set/decision/template.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';
import { member, NOW, webSet } from '../../fixtures/virtual-server-set.ts';

const WHERE = ' -n team';
const OLD = { spec: { image: 'cloudinit-debian-bookworm.raw.gz' } };
const STEERING = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const paint = { strong: String, faint: String, good: String, busy: String, bad: String };

/** The set with the status that the operator would write for these objects. */
function seen(set: VirtualServerSet, objects: readonly VirtualServer[]): Situation {
  const { status } = planSet(set, { objects, live: true }, NOW);
  return situationOf({ ...set, status }, groupsOf(set, objects), NOW);
}

const shown = (situation: Situation): string => setScreen({ situation, events: [], where: WHERE, paint }).join('\n');

/** A set that had another image before. */
const changed = (): VirtualServerSet => {
  const before = webSet(OLD);
  const { status } = planSet(before, { objects: [], live: true }, NOW);
  return webSet({}, { ...before, status });
};

describe('an argument', () => {
  it.each([
    ['web', 'server', 'web'],
    ['vps/web', 'server', 'web'],
    ['virtualserver.vps-operator.dev/web', 'server', 'web'],
    ['set/web', 'set', 'web'],
    ['vpsset/web', 'set', 'web'],
    ['VirtualServerSet/web', 'set', 'web'],
    ['virtualserversets/web', 'set', 'web'],
    ['virtualserverset.vps-operator.dev/web', 'set', 'web'],
    ['virtualserversets.v1alpha1.vps-operator.dev/web', 'set', 'web'],
    ['set/web/scale', 'set', 'web/scale'],
  ])('%j names the %s %j', (text, kind, name) => expect(targetOf(text)).toEqual({ kind, name }));

  it.each(['pod/web', 'web/status', '/web', 'set.example.org/web', 'constructor/web'])(
    'of an unknown type is refused: %j',
    (text) => {
      expect(() => targetOf(text)).toThrow(/^unknown type .*: use vps\/NAME for a server or set\/NAME for a set$/);
    },
  );

  it('of a rollout is a set, with or without its type', () => {
    expect([setNameOf('web'), setNameOf('set/web')]).toEqual(['web', 'web']);
    expect(() => setNameOf('vps/web')).toThrow('"vps/web" is a server; only a set has rollouts');
  });
});

describe('the screen of a set', () => {
  it('shows the set, its counts and its members as a tree', () => {
    const set = changed();
    const objects = [
      member(set, 10, { reason: 'Creating', ageSeconds: 60 }),
      member(set, 0, { ...OLD, price: 4.5 }),
      member(set, 2, { ...OLD, deleting: true }),
    ];
    const text = shown(seen(set, objects));
    expect(text).toContain(
      'set/web, a VirtualServerSet in default, 24h old\nNot ready: RollingOut  1 of 3 members have the current template',
    );
    expect(text).toMatch(/^Members +3 wanted, 2 exist, 1 ready, 1 updated, 1 available, 1 being deleted$/m);
    expect(text).toMatch(/^Template +VPSX4, cloudinit-debian-trixie.raw.gz, disk 10240$/m);
    expect(text).toMatch(/^Revision +from [0-9a-f]{8} to [0-9a-f]{8}$/m);
    expect(text).toMatch(/^Strategy +RollingUpdate, maxSurge 1, maxUnavailable 0$/m);
    const tree = text.split('\n').filter((line) => /^(NAME|set\/web |.─)/.test(line));
    expect(tree.map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'READY', 'REASON', 'UPDATED', 'AVAILABLE', 'SERVER', 'PRICE', 'AGE'],
      ['set/web', 'False', 'RollingOut', '1/3', '1/3', '-', '4.50', '24h'],
      ['├─ web-0', 'True', 'Available', 'no', 'yes', '-', '4.50', '60m'],
      ['├─ web-2', 'False', 'Deleting', 'no', 'no', '-', '-', '60m'],
      ['└─ web-10', 'False', 'Creating', 'yes', 'no', '-', '-', '60s'],
    ]);
  });

  it('shows a set that the operator has not reported on, and how to find out why', () => {
    const set = webSet();
    const text = shown(situationOf(set, groupsOf(set, []), NOW));
    expect(text).toContain('Not ready: NotReported  The operator has not reported on this object yet');
    expect(text).toMatch(/^Members +3 wanted$/m);
    expect(text).toMatch(/^ {2}kubectl get events -n team --field-selector involvedObject.uid=uid-of-set$/m);
    expect(text).toMatch(/^ {2}# more: .*kubectl-plugin.md#status$/m);
  });

  it('reports that the operator has not seen the last change, without steps for the earlier state', () => {
    const set = webSet();
    const { status } = planSet(set, { objects: [member(set, 0, { reason: 'TaskFailed' })], live: true }, NOW);
    const later = webSet({ replicas: 2 }, { ...set, status: status });
    const text = shown(situationOf(later, groupsOf(later, []), NOW));
    expect(text).toContain('has not reported on the last change yet');
    expect(text).not.toContain('What you can do');
  });

  it('does not let text of others steer the terminal', () => {
    const set = webSet();
    const hostile = 'red \u001b[31m, turned \u202e, bell \u0007\r\n';
    const situation = seen(set, [member(set, 0, { reason: 'TaskFailed', message: hostile })]);
    const conditions = (situation.set.status?.conditions ?? []).map((condition) => ({
      ...condition,
      reason: hostile,
      message: hostile,
    }));
    const { object } = situation.members[0] as Situation['members'][0];
    object.status = { ...object.status, identifier: hostile, conditions };
    situation.set.status = { ...situation.set.status, conditions, currentRevision: hostile, updateRevision: 'x' };
    expect(shown(situation)).toContain('red  [31m');
    expect(shown(situation)).not.toMatch(STEERING);
    expect(setProgressLine(situation.set)).not.toMatch(STEERING);
  });
});

/** The reasons that Ready of a set can have; the others are those of Events. */
const SET_READY = Object.entries(SET_REASONS)
  .filter(([, meaning]) => 'ready' in meaning)
  .map(([reason]) => reason as SetReason);

describe('the next steps of a set', () => {
  const steps = (set: VirtualServerSet, objects: readonly VirtualServer[]): string[] =>
    setSteps(seen(set, objects), WHERE);

  it('are the steps of the unresolved member, then the other unresolved members', () => {
    const set = webSet();
    const unresolved = (ordinal: number, reason: 'TaskFailed' | 'CreateOutcomeUnknown'): VirtualServer => {
      const object = member(set, ordinal, { reason });
      const record = { owner: object.metadata.uid, mode: 'create' as const, attempt: 'a1' };
      return { ...object, status: { ...object.status, record } };
    };
    const found = steps(set, [unresolved(0, 'CreateOutcomeUnknown'), unresolved(1, 'TaskFailed'), member(set, 2)]);
    expect(found.slice(1, 3).join('\n')).toMatch(/web-0 -n team --adopt IDENTIFIER.*\n.*web-0 -n team --not-created/);
    expect(found.slice(3)).toEqual([
      'kubectl vps status web-1 -n team   # TaskFailed',
      `# more: ${reasonPage('CreateOutcomeUnknown')}`,
    ]);
  });

  it('lead to the template, or back to the one before, if a member cannot be ordered', () => {
    const set = changed();
    const blocked = member(set, 2, { reason: 'InvalidSpec', ordered: false });
    const found = steps(set, [member(set, 0, OLD), member(set, 1, OLD), blocked]);
    const { revision } = earlierRevisions(seen(set, []).set)[0] ?? {};
    expect(found).toEqual([
      'kubectl edit vpsset web -n team   # the template of its set',
      `kubectl vps rollout undo web -n team   # return to revision ${revision}`,
      `# more: ${reasonPage('InvalidSpec')}`,
    ]);
  });

  it.each(['MemberRejected', 'ProgressDeadlineExceeded'] as const)(
    'lead back from a rollout that ends in %s',
    (reason) => {
      const { set, ...situation } = seen(changed(), [member(changed(), 0, OLD)]);
      const conditions = withVerdict([], { reason, message: 'why' }, set.metadata.generation, NOW);
      const stuck = { ...set, status: { ...set.status, conditions } };
      expect(setSteps({ ...situation, set: stuck }, WHERE)[0]).toMatch(/^kubectl vps rollout undo web -n team /);
      // There is nothing to return to without a rollout.
      expect(setSteps({ ...situation, set: stuck, rolling: false }, WHERE)).toEqual([`# more: ${reasonPage(reason)}`]);
    },
  );

  it('are those of the member whose server cannot get the template in place, or a new server for it', () => {
    const spec = { changePolicy: 'Online' as const };
    const set = webSet({ replicas: 1, spec });
    const object = member(set, 0, { spec });
    const finding = { status: 'True', reason: 'ChangeUnavailable', message: 'no such call' } as const;
    const conditions = withCondition(object.status?.conditions ?? [], 'ChangePending', finding, 1, NOW);
    const record = { owner: object.metadata.uid, mode: 'create' as const, identifier: 'vs1' };
    const objects = [{ ...object, status: { ...object.status, conditions, record } }];
    const { set: shown, ...situation } = seen(set, objects);
    const { status } = planSet(set, { objects, live: true }, NOW);
    const found = { ...situation, set: { ...shown, status } };
    expect(setSteps(found, WHERE)).toEqual([
      'kubectl edit vpsset web -n team   # the template of its set',
      'kubectl delete vps web-0 -n team   # to cancel the server of web-0 and order a new one instead',
      `# more: ${reasonPage('ChangeUnavailable')}`,
    ]);
    expect(needy(found).map(({ name }) => name)).toEqual(['web-0']);
    expect(noteOf(found.members[0] as Member)).toMatchObject({ reason: 'ChangeUnavailable', message: 'no such call' });
  });

  it('do not lead from a restart to an earlier revision', () => {
    const { set: before } = seen(changed(), [member(changed(), 0)]);
    const metadata = { annotations: { [RESTARTED_AT]: '2026-01-02T00:00:00Z' } };
    const restarted = { ...before, spec: { ...before.spec, template: { ...before.spec.template, metadata } } };
    const { set, ...situation } = seen(restarted, [member(before, 0)]);
    const { generation } = set.metadata;
    const conditions = withVerdict([], { reason: 'ProgressDeadlineExceeded', message: 'why' }, generation, NOW);
    const stuck = { ...set, status: { ...set.status, conditions } };
    expect([situation.rolling, earlierRevisions(stuck).length]).toEqual([true, 1]);
    expect(setSteps({ ...situation, set: stuck }, WHERE)).toEqual([
      `# more: ${reasonPage('ProgressDeadlineExceeded')}`,
    ]);
  });

  it('lead to the page of the member that the set quotes, also if there is no command', () => {
    const object = member(webSet({ replicas: 1 }), 0, { reason: 'Unreachable', message: 'no SSH server answers' });
    const record = { owner: object.metadata.uid, mode: 'create' as const, identifier: 'vs1' };
    const objects = [{ ...object, status: { ...object.status, record } }];
    const { set, ...situation } = seen(webSet({ replicas: 1 }), objects);
    const { status } = planSet(set, { objects, live: true }, NOW + 3_600_000);
    expect(setSteps({ ...situation, set: { ...set, status } }, WHERE)).toEqual([
      `# more: ${reasonPage('Unreachable')}`,
    ]);
  });

  it.each([
    ['protected', { spec: { deletionProtection: true } }, `'{"spec":{"deletionProtection":false}}'`],
    ['retained', { spec: { deletionPolicy: 'Retain' as const } }, `'{"spec":{"deletionPolicy":"Delete"}}'`],
    ['paused', { annotations: { [PAUSED_ANNOTATION]: 'true' } }, `${PAUSED_ANNOTATION}-`],
  ])('let the set delete a %s member', (_kept, shape, end) => {
    const set = webSet({ replicas: 0 });
    const found = steps(set, [member(set, 0, shape)]);
    expect(found[0]).toMatch(/^kubectl (patch|annotate) vps web-0 -n team /);
    expect(found[0]).toContain(end);
    expect(found[1]).toBe(`# more: ${reasonPage('DeletionBlocked')}`);
  });

  it('replace a member whose server is gone', () => {
    const set = webSet({ replicas: 1 });
    const object = member(set, 0, { reason: 'ServerMissing' });
    const record = { owner: object.metadata.uid, mode: 'create' as const, identifier: 'vs1' };
    const found = steps(set, [{ ...object, status: { ...object.status, record } }]);
    expect(found.map((step) => step.split(' ').slice(0, 4).join(' '))).toEqual([
      'kubectl delete vps web-0',
      'kubectl vps resolve web-0',
      `# more: ${reasonPage('ServerMissing')}`,
    ]);
    expect(found[0]).toContain('# to let its set order a replacement');
  });

  it('name an object that has the name of a member', () => {
    const set = webSet({ replicas: 1, maxSurge: 0, maxUnavailable: 1 });
    const object = member(set, 0);
    const { ownerReferences, ...metadata } = object.metadata;
    expect(ownerReferences).toHaveLength(1);
    const found = steps(set, [{ ...object, metadata: { ...metadata, labels: {} } }]);
    expect(found.slice(0, 2)).toEqual([
      'kubectl label --overwrite vps web-0 -n team vps-operator.dev/set=web   # to make web-0 a member, if nothing else controls it',
      'kubectl delete vps web-0 -n team   # to cancel the server of web-0 instead',
    ]);
  });

  it('resume a paused set, and are empty for a set that is Ready or on its way', () => {
    const paused = webSet({ paused: true, replicas: 0 });
    expect(steps(paused, [])).toEqual(['kubectl vps rollout resume web -n team', `# more: ${reasonPage('Paused')}`]);
    const set = webSet({ replicas: 1 });
    expect(steps(set, [member(set, 0)])).toEqual([]);
    expect(steps(set, [member(set, 0, { reason: 'Creating' })])).toEqual([]);
    expect(steps(set, [])).toEqual([]);
  });

  it.each(SET_READY)('name a page for %s if it stops the set', (reason) => {
    const set = webSet();
    const conditions = withVerdict([], { reason, message: 'why' }, 1, NOW);
    const status = { observedGeneration: 1, conditions };
    const found = setSteps(situationOf({ ...set, status }, groupsOf(set, []), NOW), WHERE);
    const isStalled = conditions.some(({ type }) => type === 'Stalled');
    expect(found).toEqual(isStalled ? [`# more: ${reasonPage(reason)}`] : []);
  });
});

describe('a member on its own', () => {
  it('shows its set, and its steps change the template instead of the member', () => {
    const set = webSet();
    const object = member(set, 0, { reason: 'InvalidSpec', ordered: false });
    const text = screen({ object, events: [], now: NOW, where: WHERE, paint }).join('\n');
    expect(text).toMatch(/^Set +kubectl vps status set\/web -n team$/m);
    expect(text).not.toContain('Unknown annotation');
    expect(nextSteps(object, WHERE, NOW)[0]).toBe('kubectl edit vpsset web -n team   # the template of its set');
  });

  it('quotes the name of an owner that a shell would interpret', () => {
    const object = member(webSet(), 0, { reason: 'InvalidSpec', ordered: false });
    for (const owner of object.metadata.ownerReferences ?? []) owner.name = 'web; reboot';
    const text = screen({ object, events: [], now: NOW, where: '', paint }).join('\n');
    expect(text).toContain("kubectl vps status 'set/web; reboot'");
    expect(text).toContain("kubectl edit vpsset 'web; reboot'");
  });
});

describe('a rollout', () => {
  const counts = (status: NonNullable<VirtualServerSet['status']>): VirtualServerSet => ({
    ...webSet(),
    status: { observedGeneration: 1, ...status },
  });

  it.each([
    [{ observedGeneration: 0 }, 'Waiting for the operator to observe the change of the set...'],
    [{ replicas: 3, updatedReplicas: 1 }, 'Waiting for rollout to finish: 1 out of 3 new members have been updated...'],
    [{ replicas: 4, updatedReplicas: 3 }, 'Waiting for rollout to finish: 1 old member is pending termination...'],
    [
      { replicas: 3, updatedReplicas: 3, terminatingReplicas: 2 },
      'Waiting for rollout to finish: 2 old members are pending termination...',
    ],
    [
      { replicas: 3, updatedReplicas: 3, availableReplicas: 2 },
      'Waiting for rollout to finish: 2 of 3 updated members are available...',
    ],
  ])('with %j says what it waits for', (status, line) => {
    expect(rolloutLine(counts(status))).toBe(line);
    expect(isComplete(counts(status))).toBe(false);
  });

  it('is complete only if the operator has seen the last change, and the set is not being deleted', () => {
    const set = webSet({ replicas: 1 });
    const done = seen(set, [member(set, 0)]).set;
    expect(isComplete(done)).toBe(true);
    expect(isComplete(webSet({ replicas: 1 }, done))).toBe(false);
    const metadata = { ...done.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' };
    expect(isComplete({ ...done, metadata })).toBe(false);
  });

  it('shows how many members are available as a bar', () => {
    const set = webSet({ replicas: 2 });
    expect(setProgressLine(seen(set, [member(set, 0)]).set)).toMatch(/^\[#{12}-{12}\] {2}50 % {2}Scaling: 1 of 2/);
    expect(setProgressLine(seen(set, [member(set, 0), member(set, 1)]).set)).toMatch(/ 100 % {2}Available: /);
    expect(setProgressLine(webSet())).toMatch(/^\[·+\] {2}NotReported: /);
    // Its members are there, and others as well.
    const smaller = webSet({ replicas: 1 });
    const members = [0, 1, 2].map((ordinal) => member(smaller, ordinal));
    expect(setProgressLine(seen(smaller, members).set)).toMatch(/^\[·+\] {2}Scaling: 3 members exist, 1 wanted/);
    // A set without members that is not yet at its spec.
    const empty = webSet({ replicas: 0 });
    expect(setProgressLine(seen(empty, [member(empty, 0)]).set)).toMatch(/^\[·+\] {2}Scaling: /);
  });
});

describe('a return to a revision', () => {
  const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJd you@example.org';
  const wanted: Ordered = {
    product: 'VPSX8',
    image: 'cloudinit-debian-bookworm.raw.gz',
    diskSize: 20480,
    sshKeys: [SSH_KEY, other],
  };

  it.each<[string, Ordered]>([
    ['another image', { ...wanted, product: 'VPSX4', diskSize: 10240, sshKeys: [SSH_KEY] }],
    ['everything', wanted],
    ['keys in Secrets only', { product: 'p', image: 'a/b', diskSize: 1, sshKeysFrom: [{ name: 'keys', key: 'a' }] }],
  ])('changes %s, so that an order sends the same', (_what, spec) => {
    const set = webSet({ spec: { sshKeysFrom: [{ name: 'more', key: 'b' }], sshCheck: 'Proxy' } });
    const { patch, rows } = changeTo(set, { revision: 'r', spec });
    const merged = JSON.stringify({ ...set.spec.template.spec, ...patch });
    const after = JSON.parse(merged, (_key, value: unknown) => value ?? undefined) as Ordered;
    expect(revisionOf(after)).toBe(revisionOf(spec));
    expect(after).toMatchObject({ sshCheck: 'Proxy' });
    expect(rows.map(([field]) => field)).toEqual(Object.keys(patch));
  });

  it('shows the keys by their fingerprints', () => {
    const { rows } = changeTo(webSet(), { revision: 'r', spec: wanted });
    expect(rows).toContainEqual(['product', 'VPSX4', 'VPSX8']);
    expect(rows.at(-1)).toEqual(['sshKeys', fingerprint(SSH_KEY), `${fingerprint(SSH_KEY)}, ${fingerprint(other)}`]);
    // As ssh-keygen -l prints it.
    expect(fingerprint(SSH_KEY)).toBe('SHA256:fY1OQ2tWzriJbV9f5nBAxg/lHdmrmVGbgetDFqJaZQc me@example.org');
  });

  it('goes to the newest revision that the template does not have, also before the operator has seen the template', () => {
    const first = changed();
    const observed = seen(first, []).set;
    expect(earlierRevisions(first).map(({ spec }) => spec.image)).toEqual([OLD.spec.image]);
    expect(earlierRevisions(observed).map(({ spec }) => spec.image)).toEqual([OLD.spec.image]);
    expect(earlierRevisions(webSet())).toEqual([]);
  });
});
