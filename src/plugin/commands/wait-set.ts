/** What `kubectl vps wait set/NAME` waits for. */
import { SET_LABEL } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { listNames } from '../../virtual-server-set/decision/set-sentences.ts';
import { tell, type Context } from '../cluster/context.ts';
import type { Goal } from '../screens/follow.ts';
import { setOf } from '../state/set-members.ts';
import { isComplete, setProgressLine } from '../screens/set-progress.ts';
import { stuckServer, stuckSet } from '../screens/stuck.ts';

export function readySet({ cluster }: Context, name: string): Goal<VirtualServerSet> {
  return {
    name: `set/${name}`,
    look: (signal) => cluster.getSet(name, signal),
    isReached: (set) => Promise.resolve(isComplete(set)),
    progress: setProgressLine,
    stuck: (set) => stuckSet(set, cluster.where),
  };
}

interface Remains {
  /** Undefined once the set is gone. */
  set: VirtualServerSet | undefined;
  /** The members that still exist: their servers may cost money although the set is gone. */
  members: VirtualServer[];
}

/** The set and its members. Members that `--cascade=orphan` leaves belong to no set anymore. */
export function deletedSet(context: Context, name: string): Goal<Remains> {
  const { cluster, now } = context;
  let uid: string | undefined;
  return {
    name: `set/${name}`,
    async look(signal) {
      const found = await cluster.findSet(name, signal);
      if (uid === undefined && found !== undefined && !isDeleting(found)) {
        tell(context, [`set/${name} is not being deleted yet; waiting`]);
      }
      uid ??= found?.metadata.uid;
      const labelled = await cluster.list(false, `${SET_LABEL}=${name}`, signal);
      const members = labelled.filter((object) => {
        const owner = setOf(object);
        return owner?.name === name && (uid === undefined || owner.uid === uid);
      });
      return { set: found?.metadata.uid === uid ? found : undefined, members };
    },
    isReached: ({ set, members }) => Promise.resolve(set === undefined && members.length === 0),
    progress({ set, members }, isNarrow) {
      if (set !== undefined) return setProgressLine(set, isNarrow);
      if (members.length === 0) return undefined;
      return `${members.length} left: ${listNames(members.map(({ metadata }) => metadata.name))}`;
    },
    stuck: ({ members }) =>
      members.filter(isDeleting).flatMap((member) => stuckServer(member, cluster.where, now()) ?? [])[0],
  };
}

function isDeleting({ metadata }: VirtualServer | VirtualServerSet): boolean {
  return metadata.deletionTimestamp !== undefined;
}
