/** A server that counts as gone, by proof or by your annotation. Pure. */
import { timestamp } from '../../../base/timestamp.ts';
import type { Verdict } from '../../../controller/conditions.ts';
import type { ServerRecord } from '../../../api/record.ts';
import type { VirtualServer } from '../../../api/virtual-server.ts';
import { isToExpire } from '../expiry.ts';
import { saysGone } from '../inputs.ts';
import { goOn, jittered, rest } from './next.ts';
import type { Next } from '../types.ts';
import type { View } from '../view.ts';
import { replaceAdvice } from '../words.ts';

/** Applies your annotation when the provider does not show the server; undefined if there is none for this server. */
export function goneByWord(at: View, record: ServerRecord): Next | undefined {
  const { object, facts } = at;
  const { identifier } = record;
  if (identifier === undefined || !saysGone(object, record)) return undefined;
  const goes = object.metadata.deletionTimestamp !== undefined || isToExpire(object, record, facts);
  return goes ? goOn({ ...facts.memo, gone: identifier }) : sealed(at, record, jittered(facts.timing.resyncMs, facts));
}

/** Records the absence of the server, so that another server with its identifier is not mistaken for it later. */
export function sealed(at: View, record: ServerRecord, afterMs: number): Next {
  const gone = record.missingAt === undefined ? { ...record, missingAt: timestamp(at.facts.now) } : record;
  const plan = { action: 'readServer', afterMs } as const;
  const changed = gone === record ? undefined : gone;
  return rest(
    at,
    { record: gone, verdict: missingVerdict(at.object, gone) },
    plan,
    { ...at.facts.memo, failures: 0 },
    changed,
  );
}

export function missingVerdict(
  object: VirtualServer,
  { identifier = '', missingAt = '' }: ServerRecord,
  why?: string,
): Verdict {
  const other = why === undefined ? '' : `A server ${identifier} exists again, but it is a different server: ${why}. `;
  return {
    reason: 'ServerMissing',
    message:
      `The provider no longer has server ${identifier} (missing since ${missingAt}). If you did not cancel it, look for it in the provider's control ` +
      `panel. If it is there, keep this object, and check the API key and the base URL; the operator keeps checking. ` +
      `${other}${replaceAdvice(object)}`,
  };
}
