/** Reads a host key from the wire. */
import { createHash } from 'node:crypto';
import { BOUNDS } from '../api/virtual-server.ts';
import { isKeyType, type ShownKey } from './decision/key-types.ts';

/** From a key in the format of RFC 4253, 6.6; undefined if its type is unknown or it is too long to be stored. */
export function shownKey(blob: Buffer): ShownKey | undefined {
  const type = blob.length < 4 ? '' : blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1');
  const key = blob.toString('base64');
  if (!isKeyType(type) || key.length > BOUNDS.hostKey) return undefined;
  return { type, fingerprint: `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`, key };
}
