/** What people do while the operator does not see it, and how the life of the object then comes to its end. */
import { PAUSED_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { RETAINED_CONNECTION } from './connections.ts';
import type { Stage } from './stage.ts';

export interface Gap {
  /** Flags of the operator besides the usual ones. */
  flags?: string[];
  /** Fields of the object besides the usual ones. */
  spec?: Partial<VirtualServer['spec']>;
  /** Brings the object to where people act if they have not done so before; left out: until it rests. */
  lead?: (stage: Stage, acted: () => boolean) => Promise<void>;
  /** Takes no time: nothing in it waits for the operator. */
  act: (stage: Stage) => Promise<void>;
  /** Looked at again and again while the operator is blind; true when people have done something. */
  meanwhile?: (stage: Stage) => Promise<boolean>;
  /** Once the operator sees everything again. */
  end: (stage: Stage) => Promise<void>;
}

const NAME = 'web';

async function removed(stage: Stage): Promise<void> {
  await stage.people.remove(NAME);
  await stage.gone(NAME);
}

/** True when the name was free for the second object, and was taken. */
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

/** The operator knows of the deletion and waits for the task; once people have acted nothing is waited for. */
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

export const GAPS: Readonly<Record<string, Gap>> = {
  deleted: {
    act: (stage) => stage.people.remove(NAME),
    end: (stage) => stage.gone(NAME),
  },
  /** Where nothing was claimed yet the name is free at once; else when the operator has let the object go, still blind. */
  recreated: {
    async act(stage) {
      await stage.people.remove(NAME);
      await reapplied(stage);
    },
    meanwhile: reapplied,
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
