/** Where the user data of an order comes from, if not from spec itself. */
import * as z from 'zod';
import { configMapName } from './meta.ts';
import { USER_DATA_SECRET_TYPE } from './names.ts';
import { matching, ruled } from './rules.ts';
import { secretKeySchema } from './ssh-keys.ts';

/** In characters. The provider's limit is not known; cloud-init itself has none. */
export const MAX_USER_DATA = 32_768;

const configMapKeySchema = z.object({
  name: configMapName.describe('Name of a ConfigMap in the namespace of this object.'),
  key: matching(
    z.string().min(1).max(253),
    '^[-._a-zA-Z0-9]+$',
    'must name a key of the ConfigMap: letters, digits, "-", "_" and "."',
  ).describe('Key in that ConfigMap.'),
});

export const userDataFromSchema = ruled(
  z.object({
    secretKeyRef: secretKeySchema
      .optional()
      .describe(`A Secret of the type ${USER_DATA_SECRET_TYPE}, and the key in it.`),
    configMapKeyRef: configMapKeySchema
      .optional()
      .describe('A ConfigMap, and the key in it. The operator needs the right to read ConfigMaps.'),
  }),
  {
    rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
    message: 'set secretKeyRef or configMapKeyRef, not both',
    holds: ({ secretKeyRef, configMapKeyRef }) => (secretKeyRef === undefined) !== (configMapKeyRef === undefined),
  },
).describe(
  'User data for cloud-init from a Secret or a ConfigMap, which the operator sends when it orders the server.',
);

/** One key of one object. */
export interface UserDataSource {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  key: string;
}

/** The API server accepts exactly one of the two. */
export function userDataSourceOf({
  secretKeyRef,
  configMapKeyRef,
}: z.infer<typeof userDataFromSchema>): UserDataSource {
  if (configMapKeyRef !== undefined) return { kind: 'ConfigMap', ...configMapKeyRef };
  return { kind: 'Secret', ...(secretKeyRef ?? { name: '', key: '' }) };
}

/**
 * The subject of UserDataNotFound and SSHKeyNotFound: the Secret or ConfigMap that is missing, or the key of one that is there. No name
 * of an object has a slash.
 */
export const subjectOf = ({ name, key }: Omit<UserDataSource, 'kind'>, isThere: boolean): string =>
  isThere ? `${name}/${key}` : name;

/** A byte order mark: editors on Windows write one. */
const BOM = '\u{feff}';

/** What certainly breaks user data, for whichever system; undefined: nothing is known to. */
export const userDataProblem = (text: string): string | undefined =>
  text.startsWith(BOM)
    ? 'begins with a byte order mark (BOM), so no system recognizes it. Save it as UTF-8 without BOM'
    : undefined;

/** What cloud-init recognizes, and the JSON of Ignition. */
const KNOWN_START =
  /^\s*(#!|#cloud-config|## template:|#include|#cloud-boothook|#part-handler|#upstart-job|content-type:|mime-version:|\{)/i;

/** What is probably wrong with user data, for people; other systems than cloud-init have other forms. */
export function userDataWarnings(text: string): string[] {
  return [
    ...(KNOWN_START.test(text)
      ? []
      : [
          'begins with no line that cloud-init knows, such as "#cloud-config" or "#!/bin/sh", so cloud-init ignores it',
        ]),
    ...(text.includes('\r\n') ? ['has Windows line ends (CRLF), which break scripts and files in it'] : []),
  ];
}

/** What decoding makes of bytes that are no UTF-8. */
const REPLACED = '\ufffd';

/** Why no order takes what is under the key of a Secret or ConfigMap, such as `has no key "user-data"`; undefined: it may. */
export function unusableText(key: string, text: string): string | undefined {
  if (text === '') return `has no key "${key}"`;
  if (text.includes(REPLACED)) return `key "${key}" is no text in UTF-8`;
  if (text.length > MAX_USER_DATA) return `key "${key}" has ${text.length} characters, more than ${MAX_USER_DATA}`;
  return undefined;
}
