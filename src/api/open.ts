/** What a record says is open about an order or a server, whatever the conditions show at the moment. Pure. */
import { hasTrait, type Trait } from './conditions.ts';
import type { ServerRecord } from './record.ts';

/** The reason with this trait that the record keeps; undefined if nothing of that kind is open. */
export function openReason(record: Partial<ServerRecord> | undefined, trait: Trait): string | undefined {
  const { open, createFailure } = record ?? {};
  const reasons = [open?.reason, createFailure && 'CreateFailed', doubtIn(record)?.reason];
  return reasons.find((reason) => hasTrait(reason, trait));
}

/** The doubt about the server that the record names; undefined if there is none. */
export function doubtIn(record: Partial<ServerRecord> | undefined): ServerRecord['doubt'] {
  return record?.doubt?.identifier === record?.identifier ? record?.doubt : undefined;
}
