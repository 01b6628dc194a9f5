/** What people do while the operator cannot see it, and how the object's life ends. */
import { PAUSED_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { ApiName } from '../../src/simulator/index.ts';
import { RETAINED_CONNECTION } from './connections.ts';
import { NAMED } from './named.ts';
import { emptied, isSettled, template } from './sets.ts';
import type { Stage } from './stage.ts';

export interface Gap {
  /** Additional operator flags. */
  flags?: string[];
  api?: ApiName;
  asksNobody?: true;
  /** Additional spec fields of the object. */
  spec?: Partial<VirtualServer['spec']>;
  /** Applies something else than one object. */
  begin?: (stage: Stage) => Promise<void>;
  /** Brings the object to the point where people act, unless they already have. Default: waits until it has settled. */
  lead?: (stage: Stage, acted: () => boolean) => Promise<void>;
  /** Must not wait for the operator. */
  act: (stage: Stage) => Promise<void>;
  /** Called repeatedly while the operator is blind; returns true when people have done something. */
  whileBlind?: (stage: Stage) => Promise<boolean>;
  /** Runs once the operator sees everything again. */
  end: (stage: Stage) => Promise<void>;
}

const NAME = 'web';

async function removed(stage: Stage): Promise<void> {
  await stage.people.remove(NAME);
  await stage.gone(NAME);
}

/** Creates the second object if the name is free; returns whether it did. */
async function reapplied(stage: Stage): Promise<boolean> {
  if (stage.objects.object(NAME) !== undefined || stage.people.applied > 1) return false;
  await stage.people.apply(NAME);
  return true;
}

async function retain(stage: Stage): Promise<void> {
  stage.retained.add(stage.objects.object(NAME)?.spec.sshKeys?.join('\n'));
  await stage.people.edit(NAME, { spec: { deletionPolicy: 'Retain' } });
}

async function retainAndRemove(stage: Stage): Promise<void> {
  await retain(stage);
  await stage.people.remove(NAME);
}

/** Waits until the operator knows about the deletion and polls the task; stops waiting once people have acted. */
async function untilDeleting(stage: Stage, acted: () => boolean): Promise<void> {
  stage.tasksEnd = false;
  const polled = (): number => stage.panel.polls(stage.simulator.ledger.creates()[0]?.task ?? 0);
  await stage.until('the task to be polled', () => acted() || polled() >= 2);
  await stage.people.remove(NAME);
  const before = polled();
  await stage.until('the task to be polled while deleting', () => acted() || polled() >= before + 2);
  stage.tasksEnd = true;
}

async function unprotected(stage: Stage): Promise<void> {
  await stage.until('the object to be gone or protected', () => {
    const reason = stage.reason(NAME);
    return stage.objects.object(NAME) === undefined || reason === 'DeletionProtected';
  });
  await stage.people.edit(NAME, { spec: { deletionProtection: false } });
  await stage.gone(NAME);
}

async function unpaused(stage: Stage): Promise<void> {
  await stage.people.edit(NAME, { annotations: { [PAUSED_ANNOTATION]: null } });
  await stage.gone(NAME);
}

/** A set of one member, which has settled unless people have acted before. */
const SET_OF_ONE: Pick<Gap, 'begin' | 'lead'> = {
  begin: (stage) => stage.people.applySet(NAME, { replicas: 1, template: template() }),
  lead: (stage, acted) =>
    stage.until('the set to settle', () => acted() || (stage.calm.isResting('web-0') && isSettled(stage, 1))),
};

async function replacedAndEmptied(stage: Stage): Promise<void> {
  const isReplaced = (): boolean => {
    const [member, ...others] = stage.objects.all();
    return others.length === 0 && member?.metadata.deletionTimestamp === undefined && isSettled(stage, 1);
  };
  await stage.until('another member', isReplaced);
  await emptied(stage);
}

export const GAPS: Readonly<Record<string, Gap>> = {
  deleted: {
    act: (stage) => stage.people.remove(NAME),
    end: (stage) => stage.gone(NAME),
  },
  'named-deleted': {
    ...NAMED,
    act: (stage) => stage.people.remove(NAME),
    end: (stage) => stage.gone(NAME),
  },
  /**
   * If the first object was never claimed, its name is free at once; otherwise after the blind operator has released
   * it.
   */
  recreated: {
    async act(stage) {
      await stage.people.remove(NAME);
      await reapplied(stage);
    },
    whileBlind: reapplied,
    async end(stage) {
      const isDeleting = (): boolean => stage.objects.object(NAME)?.metadata.deletionTimestamp !== undefined;
      await stage.until('the first object to be gone', () => !isDeleting());
      await reapplied(stage);
      await stage.rests(NAME);
      await removed(stage);
    },
  },
  'there-and-back': {
    async act(stage) {
      await stage.people.edit(NAME, { spec: { deletionPolicy: 'Retain', deletionProtection: true } });
      await stage.people.edit(NAME, { spec: { deletionPolicy: 'Delete', deletionProtection: false } });
    },
    async end(stage) {
      await stage.rests(NAME);
      await removed(stage);
    },
  },
  'retained-and-deleted': { act: retainAndRemove, end: (stage) => stage.gone(NAME) },
  'connection-retained-and-deleted': { ...RETAINED_CONNECTION, act: retainAndRemove },
  'protected-and-deleted': {
    async act(stage) {
      await stage.people.edit(NAME, { spec: { deletionProtection: true } });
      await stage.people.remove(NAME);
    },
    end: unprotected,
  },
  'paused-and-deleted': {
    async act(stage) {
      await stage.people.edit(NAME, { annotations: { [PAUSED_ANNOTATION]: 'true' } });
      await stage.people.remove(NAME);
    },
    end: unpaused,
  },
  'set-scaled-down': {
    ...SET_OF_ONE,
    act: (stage) => stage.people.editSet({ replicas: 0 }),
    end: emptied,
  },
  'set-edited': {
    ...SET_OF_ONE,
    act: (stage) => stage.people.editSet({ template: template() }),
    end: replacedAndEmptied,
  },
  /** The set replaces a member that people delete. */
  'set-member-deleted': {
    ...SET_OF_ONE,
    act: (stage) => stage.people.remove('web-0'),
    end: replacedAndEmptied,
  },
  'retained-while-deleting': { lead: untilDeleting, act: retain, end: (stage) => stage.gone(NAME) },
  'protected-while-deleting': {
    lead: untilDeleting,
    act: (stage) => stage.people.edit(NAME, { spec: { deletionProtection: true } }),
    end: unprotected,
  },
  'paused-while-deleting': {
    lead: untilDeleting,
    act: (stage) => stage.people.edit(NAME, { annotations: { [PAUSED_ANNOTATION]: 'true' } }),
    end: unpaused,
  },
};
