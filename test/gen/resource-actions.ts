/**
 * What Argo CD's resource actions should do, in the form of Argo CD's own action_test.yaml. Written by hand: this is the
 * expectation, not a description of what the Lua scripts do.
 */
import {
  CATALOG_KIND,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SERVER_KIND,
  SET_KIND,
} from '../../src/api/names.ts';
import type { ObjectMeta } from '../../src/api/meta.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';

/** A placeholder for the current time, as in the tests of Argo CD's own actions. */
export const SOME_TIME = '0001-01-01T00:00:00Z';

export interface Actionable {
  metadata: ObjectMeta;
  spec: object;
}

interface ActionTest {
  action: string;
  /** A state of states.ts, catalog-states.ts or set-states.ts. */
  state: string;
  /** What the user enters, by the name of the parameter. */
  parameters?: Record<string, string>;
  /** What the action makes of the object, or the error that the user sees. */
  expected: ((object: Actionable) => Actionable) | { error: string };
}

interface KindTests {
  /** The disabled actions of each state; discovery.lua offers all others. */
  disabled: Record<string, string[]>;
  /** The parameters of the actions that have some. */
  parameters?: Record<string, string[]>;
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

/** Every member inherits the protection. */
const protectedMembers = ({ spec, ...object }: Actionable): Actionable => {
  const { template } = spec as VirtualServerSet['spec'];
  return {
    ...object,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, deletionProtection: true } } },
  };
};

const reconciled = annotated(RECONCILE_AT_ANNOTATION, SOME_TIME);
const paused = annotated(PAUSED_ANNOTATION, 'true');
const resumed = annotated(PAUSED_ANNOTATION, undefined);

export const ACTIONS: Record<string, readonly string[]> = {
  [SERVER_KIND]: ['pause', 'protect', 'reconcile', 'resume', 'retain'],
  [CATALOG_KIND]: ['reconcile'],
  [SET_KIND]: ['pause', 'protect', 'resume', 'scale'],
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
  [SET_KIND]: {
    disabled: {
      new: ['resume'],
      Available: ['resume'],
      Paused: ['pause'],
      Available_protected: ['protect', 'resume'],
    },
    parameters: { scale: ['replicas'] },
    actions: [
      { action: 'pause', state: 'RollingOut', expected: specified({ paused: true }) },
      { action: 'resume', state: 'Paused', expected: specified({ paused: false }) },
      { action: 'protect', state: 'Available', expected: protectedMembers },
      { action: 'scale', state: 'Available', parameters: { replicas: '5' }, expected: specified({ replicas: 5 }) },
      { action: 'scale', state: 'Scaling', parameters: { replicas: '0' }, expected: specified({ replicas: 0 }) },
      {
        action: 'scale',
        state: 'Available',
        parameters: { replicas: 'five' },
        expected: { error: 'replicas must be a whole number from 0 to 10000, not "five"' },
      },
      {
        action: 'scale',
        state: 'RollingOut',
        expected: {
          error:
            'replicas is missing: enter it in the user interface, or run `kubectl scale vpsset web -n default --replicas=NUMBER`',
        },
      },
    ],
  },
};
