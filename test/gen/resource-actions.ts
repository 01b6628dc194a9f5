/**
 * What Argo CD's resource actions should do, in the form of Argo CD's own action_test.yaml. Written by hand: this is the
 * expectation, not a description of what the Lua scripts do.
 */
import { CATALOG_KIND, PAUSED_ANNOTATION, RECONCILE_AT_ANNOTATION, SERVER_KIND } from '../../src/api/names.ts';
import type { ObjectMeta } from '../../src/api/meta.ts';

/** A placeholder for the current time, as in the tests of Argo CD's own actions. */
export const SOME_TIME = '0001-01-01T00:00:00Z';

export interface Actionable {
  metadata: ObjectMeta;
  spec: object;
}

interface ActionTest {
  action: string;
  /** A state of states.ts or catalog-states.ts. */
  state: string;
  expected: (object: Actionable) => Actionable;
}

interface KindTests {
  /** The disabled actions of each state; discovery.lua offers all others. */
  disabled: Record<string, string[]>;
  actions: ActionTest[];
}

const annotated =
  (name: string, value: string | undefined) =>
  ({ metadata: { annotations = {}, ...metadata }, ...object }: Actionable): Actionable => {
    const { [name]: _before, ...others } = annotations;
    const after = value === undefined ? others : { ...others, [name]: value };
    return { ...object, metadata: { ...metadata, ...(Object.keys(after).length > 0 && { annotations: after }) } };
  };
const specified =
  (changes: object) =>
  (object: Actionable): Actionable => ({ ...object, spec: { ...object.spec, ...changes } });

const reconciled = annotated(RECONCILE_AT_ANNOTATION, SOME_TIME);
const paused = annotated(PAUSED_ANNOTATION, 'true');
const resumed = annotated(PAUSED_ANNOTATION, undefined);

export const ACTIONS: Record<string, readonly string[]> = {
  [SERVER_KIND]: ['pause', 'protect', 'reconcile', 'resume', 'retain'],
  [CATALOG_KIND]: ['reconcile'],
};

export const ACTION_TESTS: Record<string, KindTests> = {
  [SERVER_KIND]: {
    disabled: {
      new: ['resume'],
      Available: ['resume'],
      Paused: ['pause'],
      Paused_ready: ['pause'],
      HasOwners: ['protect', 'resume'],
      edited: ['resume', 'retain'],
      ExpiresSoon: ['resume', 'retain'],
    },
    actions: [
      { action: 'pause', state: 'Available', expected: paused },
      { action: 'pause', state: 'new', expected: paused },
      { action: 'resume', state: 'Paused_ready', expected: resumed },
      // The object has no other annotation.
      { action: 'resume', state: 'Paused', expected: resumed },
      { action: 'reconcile', state: 'InvalidCredentials', expected: reconciled },
      { action: 'protect', state: 'Available', expected: specified({ deletionProtection: true }) },
      { action: 'retain', state: 'Available', expected: specified({ deletionPolicy: 'Retain' }) },
    ],
  },
  [CATALOG_KIND]: {
    disabled: { Available: [] },
    actions: [{ action: 'reconcile', state: 'InvalidCredentials', expected: reconciled }],
  },
};
