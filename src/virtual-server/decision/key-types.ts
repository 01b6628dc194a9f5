/** The types of SSH host keys that the operator asks for. Pure. */

/** The key types that clients use, best first. */
export const KEY_TYPES = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
] as const;
export type KeyType = (typeof KEY_TYPES)[number];

export const isKeyType = (text: string): text is KeyType => KEY_TYPES.some((type) => type === text);

/** A key that a host has proven to hold. */
export interface ShownKey {
  type: KeyType;
  /** As `ssh-keygen -l` prints it. */
  fingerprint: string;
  /** Base64, as in known_hosts. */
  key: string;
}
