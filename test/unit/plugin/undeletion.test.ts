/** Which step of an undeletion follows from the objects of a namespace. */
import { describe, expect, it } from 'vitest';
import {
  FINALIZER,
  HAND_OVER_ANNOTATION,
  HAND_OVER_MARK_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  SET_KIND,
  TAKE_OVER_ANNOTATION,
  UNDELETES_ANNOTATION,
} from '../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../src/api/record.ts';
import type { ObjectMeta } from '../../../src/api/meta.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { requireCancellable } from '../../../src/plugin/commands/undelete.ts';
import { naming, nextStep, type UndeletionStep } from '../../../src/plugin/decisions/undeletion.ts';
import { KNOWN, NOW } from '../../fixtures/decision.ts';
import { SSH_KEY, stored, storedWith } from '../../fixtures/virtual-server.ts';

interface Shape {
  own?: Partial<ServerRecord> | false;
  dying?: boolean;
  to?: string;
  mark?: string;
  spec?: Partial<VirtualServerSpec>;
  metadata?: Partial<ObjectMeta>;
  reason?: string;
}

function object(
  name: string,
  { own = false, dying = false, to, mark, spec, metadata, reason }: Shape = {},
): VirtualServer {
  const record = own === false ? undefined : { ...KNOWN, owner: `uid-of-${name}`, ...own };
  const annotations = {
    ...(record && { [RECORD_ANNOTATION]: formatRecord(record) }),
    ...(to !== undefined && { [HAND_OVER_ANNOTATION]: to }),
    ...(mark !== undefined && { [UNDELETES_ANNOTATION]: mark }),
    ...metadata?.annotations,
  };
  const condition = {
    type: 'Reconciling',
    status: 'True' as const,
    message: '',
    lastTransitionTime: '2026-01-02T00:00:00Z',
  };
  return stored(
    name,
    storedWith({
      metadata: {
        ...metadata,
        annotations,
        finalizers: [FINALIZER],
        ...(dying && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
      },
      spec: { deletionDelay: '1h', ...spec },
      status: { ...(record && { record }), ...(reason !== undefined && { conditions: [{ ...condition, reason }] }) },
    }),
  );
}

const MARK = JSON.stringify({ name: 'web', uid: 'uid-of-web', labels: { tier: 'front' }, annotations: { note: 'x' } });
const from = (name: string) => ({ takenFrom: { name, uid: `uid-of-${name}`, identifier: 'srv1' } });
const next = (objects: VirtualServer[], as?: string): UndeletionStep | undefined =>
  nextStep(objects, 'web', as, { where: '', now: NOW });

describe('an undeletion', () => {
  const dying = object('web', {
    own: {},
    dying: true,
    metadata: {
      labels: { tier: 'front', 'kustomize.toolkit.fluxcd.io/name': 'apps' },
      annotations: { note: 'x', 'argocd.argoproj.io/tracking-id': 'apps', 'vps-operator.dev/reconcile-at': 'now' },
      ownerReferences: [{ kind: 'Shop', name: 'shop', uid: 'u' }],
    },
  });

  it('first names an object between that no tool, set or owner takes for its own, and that orders nothing', () => {
    const step = next([dying]);
    expect(step).toMatchObject({
      do: 'name',
      manifest: { metadata: { name: 'web-back', labels: {} } },
    });
    const { metadata, spec } = step?.do === 'name' ? step.manifest : expect.unreachable();
    expect(Object.keys(metadata.annotations).sort()).toEqual([
      HAND_OVER_ANNOTATION,
      TAKE_OVER_ANNOTATION,
      UNDELETES_ANNOTATION,
    ]);
    expect(metadata.annotations[HAND_OVER_ANNOTATION]).toBe('web');
    expect(metadata).not.toHaveProperty('ownerReferences');
    expect(spec).toEqual(dying.spec);
  });

  it('gives the object its own labels and annotations back, and no words to the operator', () => {
    const step = next([dying]);
    const mark = step?.do === 'name' ? step.manifest.metadata.annotations[UNDELETES_ANNOTATION] : undefined;
    const between = object('web-back', { own: from('web'), to: 'web', ...(mark !== undefined && { mark }) });
    expect(next([between])).toMatchObject({
      do: 'create',
      manifest: {
        metadata: {
          name: 'web',
          labels: dying.metadata.labels,
          annotations: { note: 'x', 'argocd.argoproj.io/tracking-id': 'apps' },
        },
      },
    });
  });

  const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

  it.each<[what: string, note: number, applied: number, fields: number, kept: string[]]>([
    ['everything', 10, 10, 1, ['owners', 'note', LAST_APPLIED]],
    ['no owners of fields', 10, 10, 1_000, ['note', LAST_APPLIED]],
    ['only the annotations of others', 10, 16_000, 1, ['note']],
    ['no annotation', 16_000, 10, 1, []],
  ])('keeps %s if the operator would accept no longer mark', (_what, note, applied, fields, kept) => {
    const spec = Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f:field-number-${index}`, {}]));
    const owner = { manager: 'flux', operation: 'Apply', apiVersion: 'v1', fieldsV1: { 'f:spec': spec } };
    const annotations = { note: 'x'.repeat(note), [LAST_APPLIED]: 'y'.repeat(applied) };
    const metadata = { ...dying.metadata, annotations, managedFields: [owner] };
    const step = next([{ ...dying, metadata }]);
    const text = step?.do === 'name' ? (step.manifest.metadata.annotations[UNDELETES_ANNOTATION] ?? '') : '';
    expect(text.length).toBeLessThan(16_000);
    const mark = JSON.parse(text) as { annotations: object; labels: object; owners?: unknown };
    const keys = [...(mark.owners === undefined ? [] : ['owners']), ...Object.keys(mark.annotations)];
    expect([keys, mark.labels]).toEqual([kept, dying.metadata.labels]);
  });

  it('removes the protection from the object between before its deletion, and sets it on the next object', () => {
    const step = next([object('web', { own: {}, dying: true, spec: { deletionProtection: true } })]);
    const { metadata, spec } = step?.do === 'name' ? step.manifest : expect.unreachable();
    expect(spec).toMatchObject({ deletionProtection: false });
    const mark = metadata.annotations[UNDELETES_ANNOTATION] ?? '';
    expect(next([object('web-back', { own: from('web'), to: 'web', mark })])).toMatchObject({
      do: 'create',
      manifest: { metadata: { name: 'web' }, spec: { deletionProtection: true } },
    });
  });

  it('with a new name leaves out what GitOps tools know their objects by', () => {
    const step = next([dying], 'site');
    const { metadata } = step?.do === 'name' ? step.manifest : expect.unreachable();
    expect(metadata).toEqual({
      name: 'site',
      labels: { tier: 'front' },
      annotations: { note: 'x', [TAKE_OVER_ANNOTATION]: 'uid-of-web' },
    });
  });

  it.each([undefined, 'site'])(
    'marks the object that it creates, so that no other one gets the server (--name %s)',
    (as) => {
      const step = next([dying], as);
      const manifest = step?.do === 'name' ? step.manifest : expect.unreachable();
      const to = manifest.metadata.name;
      expect(naming(manifest)).toEqual({ [HAND_OVER_ANNOTATION]: to, [HAND_OVER_MARK_ANNOTATION]: 'uid-of-web' });
      const named = object('web', { own: {}, dying: true, metadata: { annotations: naming(manifest) } });
      expect(next([named], as)).toMatchObject({
        do: 'create',
        manifest: { metadata: { name: to, annotations: { [TAKE_OVER_ANNOTATION]: 'uid-of-web' } } },
      });
      const mine = object(to, { metadata: { annotations: manifest.metadata.annotations } });
      expect(next([named, mine], as)).toMatchObject({ do: 'wait' });
      const { [TAKE_OVER_ANNOTATION]: _, ...unmarked } = manifest.metadata.annotations;
      const hints = expect.arrayContaining([expect.stringMatching(/hand-over=web-back/)]) as string[];
      expect(() => next([named, object(to, { metadata: { annotations: unmarked } })], as)).toThrow(
        expect.objectContaining({
          message: expect.stringContaining(`another client has created ${to}`) as string,
          hints,
        }),
      );
    },
  );

  it('takes an object that you have named yourself, without a mark', () => {
    const step = next([object('web', { own: {}, dying: true, to: 'site' })], 'site');
    expect(step?.do === 'create' && step.manifest.metadata.annotations).toEqual({});
  });

  it('chooses another name for the object between if an object has its name', () => {
    expect(next([dying, object('web-back')])).toMatchObject({
      do: 'name',
      manifest: { metadata: { name: 'web-back-2' } },
    });
  });

  it.each<[string, VirtualServer[], object]>([
    ['creates the object that is named', [object('web', { own: {}, dying: true, to: 'web-back' })], { do: 'create' }],
    [
      'waits until that object holds the server',
      [object('web', { own: {}, dying: true, to: 'web-back' }), object('web-back', { to: 'web', mark: MARK })],
      { do: 'wait', shown: { metadata: { name: 'web-back' } } },
    ],
    [
      'waits until the deleted object is gone',
      [
        object('web', { own: {}, dying: true, to: 'web-back' }),
        object('web-back', { to: 'web', mark: MARK, own: from('web') }),
      ],
      { do: 'wait', why: 'web is about to go' },
    ],
    ['creates the object again', [object('web-back', { to: 'web', mark: MARK, own: from('web') })], { do: 'create' }],
    [
      'deletes the object between, whatever re-created the object',
      [object('web'), object('web-back', { to: 'web', mark: MARK, own: from('web') })],
      { do: 'delete', object: { metadata: { name: 'web-back' } } },
    ],
    [
      'deletes the object between if only a line end differs',
      [
        object('web', { spec: { sshKeys: [`${SSH_KEY}\r\n`] } }),
        object('web-back', { to: 'web', mark: MARK, own: from('web') }),
      ],
      { do: 'delete', object: { metadata: { name: 'web-back' } } },
    ],
    [
      'waits for the way back',
      [object('web'), object('web-back', { to: 'web', mark: MARK, own: from('web'), dying: true })],
      { do: 'wait', shown: { metadata: { name: 'web' } } },
    ],
    ['ends', [object('web', { own: from('web-back') })], { do: 'end' }],
  ])('%s', (_what, objects, step) => {
    expect(next(objects)).toMatchObject(step);
  });

  it('finds no object', () => {
    expect(next([])).toBeUndefined();
    expect(next([object('db')], 'site')).toBeUndefined();
  });

  it.each<[string, Shape]>([
    ['expiresAt is in the past', { spec: { expiresAt: '2026-01-01T23:59:59Z' } }],
    ['ttl has passed', { own: { readyAt: '2026-01-01T00:00:00Z' }, spec: { ttl: '24h' } }],
  ])('takes no server back that would be cancelled at once, because its %s', (_what, shape) => {
    const [own, back] = [{ ...shape.own }, { ...shape.own, ...from('web') }];
    const old = object('web', { dying: true, ...shape, own });
    const between = object('web-back', { to: 'web', mark: MARK, ...shape, own: back });
    for (const [objects, whose] of [
      [[old], 'web'],
      [[between], 'web-back'],
    ] as const)
      expect(() => next([...objects])).toThrow(
        expect.objectContaining({
          message: expect.stringContaining('cancelled as soon as it is taken back') as string,
          hints: [`kubectl patch vps ${whose} --type merge -p '{"spec":{"ttl":null,"expiresAt":null}}'`],
        }),
      );
  });

  it.each([
    ['web', 'web-back is being deleted, and hands its server over to web', 'kubectl vps undelete web'],
    [undefined, 'web-back is being deleted', 'kubectl vps undelete web-back'],
  ])('never says that an object that is being deleted keeps the server (it goes to %s)', (to, message, hint) => {
    const between = object('web-back', { to, mark: MARK, own: from('web'), dying: true });
    for (const others of [[], [object('web', { own: from('web-back') })]])
      expect(() => next([...others, between], 'web-back')).toThrow(expect.objectContaining({ message, hints: [hint] }));
  });

  it('tells what the object that was created again does not keep, if it ends the server later', () => {
    const between = object('web-back', { to: 'web', mark: MARK, own: from('web'), spec: { deletionDelay: '24h' } });
    const again = object('web', { spec: { expiresAt: '2026-01-02T12:00:00Z' } });
    expect(next([again, between])).toMatchObject({
      do: 'delete',
      loses: [
        'web ends the server at 2026-01-02T12:00:00Z, earlier than before its deletion',
        'spec.deletionDelay of web is shorter than before its deletion',
      ],
    });
    const same = object('web', { spec: { deletionDelay: '24h' } });
    expect(next([same, between])).toMatchObject({ do: 'delete', loses: [] });
  });

  const member = [{ kind: SET_KIND, name: 'set', uid: 'u', controller: true }];
  it.each<[string, Shape, string | undefined, string]>([
    ['lives', { own: {} }, undefined, 'web is not being deleted'],
    [
      'is a member of a set',
      { own: {}, dying: true, metadata: { ownerReferences: member } },
      undefined,
      'is a member of a set',
    ],
    ['is retained', { own: {}, dying: true, spec: { deletionPolicy: 'Retain' } }, undefined, 'its server stays anyway'],
    [
      'is paused',
      { own: {}, dying: true, metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } },
      'site',
      'is paused',
    ],
    ['has no server yet', { dying: true }, undefined, 'not yet'],
    ['was never read', { own: { fingerprint: undefined }, dying: true }, undefined, 'not yet'],
    ['lost its server', { own: { missingAt: '2026-01-02T00:00:00Z' }, dying: true }, undefined, 'no longer exists'],
    ['is being cancelled', { own: {}, dying: true, reason: 'Deleting' }, undefined, 'too late'],
    ['may be cancelled', { own: {}, dying: true, reason: 'CancellationUnconfirmed' }, 'site', 'too late'],
    ['goes to another object', { own: {}, dying: true, to: 'db' }, 'site', 'to db already'],
  ])('refuses an object that %s', (_what, shape, as, says) => {
    expect(() => next([object('web', shape)], as)).toThrow(says);
  });

  it.each([['x$(touch pwned)'], ["'; touch pwned; '"], [''], ['a/b'], ['web']])(
    'names another object instead of %j in the annotation, and pastes nothing of it into a command',
    (to) => {
      for (const [as, free] of [
        ['site', 'site'],
        [undefined, 'web-back'],
      ] as const) {
        const look = (): unknown => next([object('web', { own: {}, dying: true, to })], as);
        const hints = [`kubectl annotate vps web --overwrite ${HAND_OVER_ANNOTATION}=${free}`];
        const message = expect.stringContaining('names no other') as string;
        expect(look).toThrow(expect.objectContaining({ hints, message }));
      }
    },
  );

  it.each<[string, Shape, string]>([
    ['another image', { spec: { image: 'rocky-9' } }, 'another image: web-back keeps the server'],
    ['other SSH keys', { spec: { sshKeys: ['ssh-ed25519 AAAA'] } }, 'another sshKeys: web-back keeps the server'],
    ['an end in the past', { spec: { expiresAt: '2026-01-01T00:00:00Z' } }, 'ends the server at 2026-01-01'],
    ['a ttl that has passed', { spec: { ttl: '1h' } }, 'nothing tells since when'],
    ['no protection', { spec: { deletionProtection: false } }, 'spec.deletionProtection of web is false'],
    ['its own server', { own: { identifier: 'srv2' } }, 'that has its own server or order'],
    ['its own order', { own: { identifier: undefined, attempt: 'a2' } }, 'that has its own server or order'],
  ])('does not delete the object between if the object that was created again has %s', (_what, shape, says) => {
    const mark = JSON.stringify({ ...(JSON.parse(MARK) as object), deletionProtection: true });
    const between = object('web-back', { to: 'web', mark, own: from('web') });
    const again = { ...shape, spec: { deletionProtection: true, ...shape.spec } };
    expect(() => next([object('web', again), between])).toThrow(says);
  });

  it.each<[string, Shape]>([
    ['holds no server', {}],
    ['holds no server', { own: { identifier: undefined, fingerprint: undefined } }],
    ['no longer exists', { own: { ...from('web'), missingAt: '2026-01-02T00:00:00Z' } }],
  ])('creates nothing that would order a server, if the object between %s', (says, shape) => {
    const between = object('web-back', { to: 'web', mark: MARK, ...shape });
    for (const others of [[], [object('web')]]) expect(() => next([...others, between])).toThrow(says);
  });

  it.each([[[]], [[object('web')]]])('waits for a paused object between to be resumed, with %j', (others) => {
    const metadata = { annotations: { [PAUSED_ANNOTATION]: 'true' } };
    for (const dying of [true, false]) {
      const between = object('web-back', { to: 'web', mark: MARK, own: from('web'), dying, metadata });
      if (dying && others.length === 0) continue;
      expect(next([...others, between])).toMatchObject({ do: 'wait', shown: { metadata: { name: 'web-back' } } });
    }
  });

  describe('under the name of the object between', () => {
    const mark = JSON.stringify({
      name: 'web',
      uid: 'uid-of-web',
      labels: { tier: 'front', 'kustomize.toolkit.fluxcd.io/name': 'apps' },
      annotations: { note: 'x' },
      deletionProtection: true,
    });
    const between = object('web-back', { to: 'web', mark, own: from('web') });

    it('restores it as an independent object that no tool owns', () => {
      for (const others of [[], [object('web', { own: { identifier: 'srv2' } })]])
        expect(next([...others, between], 'web-back')).toEqual({
          do: 'keep',
          object: between,
          changes: {
            metadata: {
              labels: { tier: 'front' },
              annotations: {
                note: 'x',
                [HAND_OVER_ANNOTATION]: null,
                [TAKE_OVER_ANNOTATION]: null,
                [UNDELETES_ANNOTATION]: null,
              },
            },
            spec: { deletionProtection: true },
          },
        });
    });

    it('refuses while an object waits for the server, because that object would order another one', () => {
      const without = object('web', { own: { identifier: undefined, attempt: undefined, task: undefined } });
      for (const waiting of [object('web'), without])
        expect(() => next([waiting, between], 'web-back')).toThrow('web orders another one');
    });

    it('refuses if there is no server to keep, and changes nothing twice', () => {
      expect(() => next([object('web-back', { to: 'web', mark })], 'web-back')).toThrow('holds no server');
      expect(next([object('web-back', { own: from('web') })], 'web-back')).toMatchObject({ do: 'end' });
      expect(next([object('web-back', { to: 'db', mark, own: from('web') })], 'web-back')).toMatchObject({ do: 'end' });
    });
  });

  it('takes a member of a set back under another name, without the set', () => {
    const labels = { 'vps-operator.dev/set': 'set', tier: 'front' };
    const of = object('web', { own: {}, dying: true, metadata: { ownerReferences: member, labels } });
    const step = next([of], 'kept');
    expect(step).toMatchObject({ do: 'name', manifest: { metadata: { name: 'kept', labels: { tier: 'front' } } } });
    expect(step?.do === 'name' && step.manifest.metadata).not.toHaveProperty('ownerReferences');
  });

  it('refuses a name that is taken', () => {
    expect(() => next([object('web', { own: {}, dying: true }), object('site')], 'site')).toThrow(
      'already a VirtualServer site',
    );
  });
});

describe('cancel --now', () => {
  const open = { own: { identifier: undefined, fingerprint: undefined } };
  const cancellable = (shape: Shape, now: boolean): unknown => requireCancellable(object('web', shape), now, '');

  it.each<[string, Shape, string]>([
    ['an open order', open, 'not yet'],
    ['an open order, and is being deleted', { ...open, dying: true }, 'not yet'],
    ['lost its record', {}, 'not yet'],
  ])('refuses an object that has a delay and %s, because nothing would end the delay', (_what, shape, says) => {
    expect(() => cancellable(shape, true)).toThrow(says);
  });

  it.each<[string, Shape, boolean]>([
    ['an open order without a delay', { ...open, spec: { deletionDelay: undefined } }, true],
    ['an open order, whose server waits for the end of the delay', open, false],
    ['a known server', { own: {} }, true],
    ['neither server nor order', { own: { identifier: undefined, attempt: undefined, task: undefined } }, true],
  ])('deletes an object with %s', (_what, shape, now) => {
    expect(cancellable(shape, now)).toMatchObject({ isDying: false });
  });
});
