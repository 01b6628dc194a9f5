/** What every write says of itself. */

/** Owner of what we write, in managedFields. */
export const FIELD_MANAGER = 'vps-operator';
export const MERGE_PATCH = 'application/merge-patch+json';
