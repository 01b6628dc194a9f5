/** The fields that name SSH keys. The rules of the texts in a list stand at the list, because the API server quotes a text. */
import * as z from 'zod';
import { secretName } from './meta.ts';
import { KEY_FORM, PRIVATE_KEY } from './public-key.ts';
import { matching } from './rules.ts';

const MAX_KEYS = 16;

const ONE_KEY =
  'must be one SSH public key in one line, such as "ssh-ed25519 AAAA... me@example.org". Paste your own: "cat ~/.ssh/id_ed25519.pub" prints it, and "ssh-keygen -t ed25519" creates it';
const NO_PRIVATE_KEY =
  'must not contain a private key. Paste the public key, from the file that ends with .pub, and replace the key pair if others may have seen the private key';

const IS_PRIVATE = `key.matches('${PRIVATE_KEY}')`;

const sshKey = z
  .string()
  .min(1)
  .max(8192)
  .refine((text) => !new RegExp(PRIVATE_KEY).test(text), { message: NO_PRIVATE_KEY, abort: true })
  .refine((text) => new RegExp(KEY_FORM).test(text), ONE_KEY)
  .describe(
    'One line as in authorized_keys, such as "ssh-ed25519 AAAA... me@example.org". Line breaks after it are allowed.',
  );

export const sshKeysSchema = z
  .array(sshKey)
  .max(MAX_KEYS)
  .meta({
    'x-kubernetes-validations': [
      ruleOfKeys(`!${IS_PRIVATE}`, NO_PRIVATE_KEY),
      ruleOfKeys(`${IS_PRIVATE} || key.matches(r'${KEY_FORM}')`, ONE_KEY),
    ],
  });

export const secretKeySchema = z.object({
  name: secretName.describe('Name of a Secret in the namespace of this object.'),
  key: matching(
    z.string().min(1).max(253),
    '^[-._a-zA-Z0-9]+$',
    'must name a key of the Secret: letters, digits, "-", "_" and "."',
  ).describe('Key in that Secret.'),
});

/** A rule for each key, with a message that names the first one that breaks it. */
function ruleOfKeys(isGood: string, message: string) {
  // The API server cannot bound the cost of string(int), and refuses it.
  const indexes = Array.from({ length: MAX_KEYS }, (_, index) => `'${index}'`).join(', ');
  const index = `[${indexes}][self.map(key, ${isGood}).indexOf(false)]`;
  return {
    rule: `self.all(key, ${isGood})`,
    message: `each of sshKeys ${message}`,
    messageExpression: `'sshKeys[' + ${index} + '] ${message}'`,
  };
}
