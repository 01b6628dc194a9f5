import { describe, expect, it } from 'vitest';
import {
  ADOPT_ANNOTATION,
  GROUP,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  SET_LABEL,
  START_OVER_ANNOTATION,
} from '../../../src/api/names.ts';
import { formatRecord, parseRecord, recordSchema, type StoredRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { adoptionOf, saysNotCreated, withoutHandledOrphans } from '../../../src/virtual-server/decision/inputs.ts';
import { isPaused } from '../../../src/api/server-state.ts';
import { viewRecord } from '../../../src/virtual-server/decision/known-record.ts';
import { isOlder } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { ATTEMPTED, HELD, web } from '../../fixtures/decision.ts';

const LONG = 250 * 1024;

/** The kept parts of an object with these annotations. */
function parsed(annotations: Record<string, string>, metadata: object = {}): VirtualServer {
  const object = structuredClone(web({ annotations }));
  Object.assign(object.metadata, metadata);
  return VIRTUAL_SERVERS.parse(object);
}

/** The longest record that the schema allows, with every character escaped in JSON. */
function longestRecord(): StoredRecord {
  const escaped = (length: number): string => '\u0001'.repeat(length);
  const time = `2026-01-01T00:00:00.${'0'.repeat(43)}Z`;
  const task = Number.MAX_SAFE_INTEGER;
  const orphan = { attempt: escaped(64), task, identifier: escaped(253) };
  const times = { attemptedAt: time, readyAt: time, expiredAt: time };
  const record = { owner: escaped(128), mode: 'create', account: escaped(64), ...orphan, ...times } as const;
  return recordSchema.parse({ ...record, orphans: Array(16).fill(orphan) });
}

describe('the kept part of an object', () => {
  it('contains what the operator uses', () => {
    const others = { labels: { a: 'b' }, managedFields: [{}], generateName: 'w' };
    const annotations = { [PAUSED_ANNOTATION]: 'true', 'example.org/long': 'x'.repeat(LONG) };
    const kept = parsed(annotations, { ...others, finalizers: ['a', 'b'], deletionTimestamp: '2026-01-02T00:00:00Z' });
    const expected = web({ annotations: { [PAUSED_ANNOTATION]: 'true' }, finalizers: ['a', 'b'], deleting: true });
    expect(kept).toEqual({ ...expected, metadata: { ...expected.metadata, generation: 1 } });
    expect(kept.metadata).not.toHaveProperty('labels');
  });

  it('contains the label that names a set, and no other', () => {
    const labels = { [SET_LABEL]: 'web', app: 'web', 'vps-operator.dev/other': 'x' };
    expect(parsed({}, { labels }).metadata.labels).toEqual({ [SET_LABEL]: 'web' });
  });

  it('contains only the first few owners', () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'shop', uid: 'u', controller: true };
    const kept = parsed({}, { ownerReferences: Array(20).fill(owner) });
    const { apiVersion: _apiVersion, ...used } = owner;
    expect(kept.metadata.ownerReferences).toEqual(Array(16).fill(used));
  });

  it('keeps the owner that is the controller, wherever it is in the list', () => {
    const owners = Array.from({ length: 20 }, (_, index) => ({
      kind: 'ConfigMap',
      name: `c${index}`,
      uid: `u${index}`,
    }));
    const controller = { kind: 'VirtualServerSet', name: 'web', uid: 'uid-of-set', controller: true };
    const kept = parsed({}, { ownerReferences: [...owners, controller] }).metadata.ownerReferences ?? [];
    expect(kept).toHaveLength(16);
    expect(kept).toContainEqual(controller);
    const few = [owners[0], controller, owners[1]];
    expect(parsed({}, { ownerReferences: few }).metadata.ownerReferences).toEqual(few);
  });

  it('contains the longest possible record in full', () => {
    const text = formatRecord(longestRecord());
    expect(text.length).toBeGreaterThan(30_000);
    expect(parsed({ [RECORD_ANNOTATION]: text }).metadata.annotations).toEqual({ [RECORD_ANNOTATION]: text });
  });

  it('is limited in size, whatever the annotations are', () => {
    const names = [RECORD_ANNOTATION, ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION, ORPHAN_HANDLED_ANNOTATION];
    const kept = parsed(Object.fromEntries(names.map((name) => [name, '\ud83d\ude00'.repeat(LONG)])));
    expect(JSON.stringify(kept).length).toBeLessThan(60_000);
    expect(JSON.stringify(kept).isWellFormed()).toBe(true);
  });

  it('names only the first few mistyped annotations, without their values, and every known one', () => {
    const mistyped = Array.from({ length: 100 }, (_, index) => `${GROUP}/mistyped-${index}`);
    const names = [...mistyped, PAUSED_ANNOTATION];
    const { annotations = {} } = parsed(Object.fromEntries(names.map((name) => [name, 'x']))).metadata;
    expect(annotations).toEqual({
      ...Object.fromEntries(mistyped.slice(0, 8).map((name) => [name, ''])),
      [PAUSED_ANNOTATION]: 'x',
    });
  });
});

describe('an annotation that is too long', () => {
  it('is not a valid record, even if only trailing blanks are cut off', () => {
    const padded = parsed({ [RECORD_ANNOTATION]: `${formatRecord(HELD)}${' '.repeat(LONG)}` });
    expect(parseRecord(padded.metadata.annotations?.[RECORD_ANNOTATION])).toEqual({
      ok: false,
      error: { problem: 'it is not JSON' },
    });
    expect(viewRecord(padded, [])).toEqual({ kind: 'invalid', problem: 'it is not JSON', isAlone: true });
  });

  it('names no server to adopt', () => {
    expect(adoptionOf(parsed({ [ADOPT_ANNOTATION]: 'x'.repeat(LONG) }))).toMatchObject({ ok: false });
  });

  it('names no attempt and no object', () => {
    const long = parsed({
      [NOT_CREATED_ANNOTATION]: `a1${' '.repeat(LONG)}`,
      [START_OVER_ANNOTATION]: `uid${' '.repeat(LONG)}`,
    });
    expect(saysNotCreated(long, ATTEMPTED)).toBe(false);
    expect(long.metadata.annotations?.[START_OVER_ANNOTATION]).not.toBe('uid');
  });

  it('names the orphans that fit, and none by a partial name', () => {
    const long = parsed({ [ORPHAN_HANDLED_ANNOTATION]: `7,${'8'.repeat(4092)},123456${'9'.repeat(LONG)}` });
    const orphans = [{ task: 7 }, { task: 1 }, { task: 12 }, { task: 123 }];
    const left = withoutHandledOrphans(long, { ...HELD, orphans });
    expect(left.orphans).toEqual(orphans.slice(1));
  });

  it('still pauses the object', () => {
    expect(isPaused(parsed({ [PAUSED_ANNOTATION]: 'x'.repeat(LONG) }))).toBe(true);
  });
});

it.each([
  ['9', '10', true],
  ['10', '9', false],
  ['10', '10', false],
  ['18446744073709551614', '18446744073709551615', true],
])('compares versions as numbers: whether %s is older than %s is %s', (version, other, older) => {
  expect(isOlder(version, other)).toBe(older);
});
