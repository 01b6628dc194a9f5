/** The flags for the fields of spec that `kubectl vps new` and `replace` share, and what they make of spec. */
import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import type * as z from 'zod';
import { USER_DATA_SECRET_TYPE } from '../../api/names.ts';
import { advancedSchema, specSchema, type VirtualServerSpec } from '../../api/virtual-server.ts';
import { fileProblem } from '../../base/file-problem.ts';
import { collect, diskSizeOf, durationFor } from './arguments.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { readPublicKey } from './public-key.ts';

export interface SpecFlags {
  product?: string | undefined;
  image?: string | undefined;
  diskSize?: number | undefined;
  identifier?: string | undefined;
  /** Each is a public key, or the path of a file with one. */
  sshKey: readonly string[];
  /** Each in the form `secret/key`. */
  sshKeyFrom: readonly string[];
  ipv4: boolean;
  zone?: string | undefined;
  hostname?: string | undefined;
  serverName?: string | undefined;
  diskType?: string | undefined;
  forwardDns: boolean;
  reverseDns: boolean;
  /** Each in the form `field=value`. */
  advanced: readonly string[];
  storedUserData?: string | undefined;
  /** The path of a file. */
  userData?: string | undefined;
  /** In the form `secret/key` or `configmap/name/key`. */
  userDataFrom?: string | undefined;
  secret?: string | undefined;
  ttl?: string | undefined;
  expiresAt?: string | undefined;
  deletionDelay?: string | undefined;
  power?: string | undefined;
  changePolicy?: string | undefined;
  sshCheck?: string | undefined;
  connectionSecret?: string | undefined;
  retain: boolean;
  protect: boolean;
}

const CHANGE_POLICIES = specSchema.shape.changePolicy.unwrap().options;
const SSH_CHECKS = specSchema.shape.sshCheck.unwrap().options;
const POWERS = specSchema.shape.power.unwrap().options;

/** The flag for each field of spec, in the order of the help. */
const OPTIONS: { [F in keyof Required<VirtualServerSpec>]: () => Option } = {
  product: () => new Option('--product <code>', 'product code'),
  image: () => new Option('--image <name>', 'image name'),
  diskSize: () =>
    new Option('--disk-size <size>', "disk size, in the unit of the provider's list").argParser(diskSizeOf),
  identifier: () =>
    new Option(
      '--identifier <identifier>',
      'identifier of the server, part of its host name; default: one that the operator chooses',
    ),
  sshKeys: () => repeatable('--ssh-key <key>', 'SSH public key, or a file with one; repeatable'),
  sshKeysFrom: () => repeatable('--ssh-key-from <secret/key>', 'SSH public key in a Secret; repeatable'),
  ipv4: () => yes('--ipv4', 'order an IPv4 address too, which costs extra'),
  zone: () => new Option('--zone <code>', 'zone that the server is created in'),
  hostname: () => new Option('--hostname <name>', 'hostname of the server'),
  serverName: () => new Option('--server-name <text>', 'name that the provider shows'),
  diskType: () => new Option('--disk-type <type>', 'disk type, such as hdd'),
  forwardDNS: () => yes('--forward-dns', 'let the provider create DNS records from the hostname to the addresses'),
  reverseDNS: () => yes('--reverse-dns', 'let the provider create DNS records from the addresses to the hostname'),
  advanced: () =>
    repeatable('--advanced <field=value>', 'a rare field of the order, such as cpuMode=Performance; repeatable'),
  storedUserData: () =>
    new Option('--stored-user-data <id>', 'number or name of user data that is stored at the provider'),
  userData: () => new Option('--user-data <file>', 'file with user data for cloud-init'),
  userDataFrom: () =>
    new Option(
      '--user-data-from <secret/key>',
      `user data in a Secret of the type ${USER_DATA_SECRET_TYPE}, or in configmap/NAME/KEY`,
    ),
  apiKeySecretRef: () => new Option('--secret <name>', 'Secret with the API key'),
  ttl: () =>
    new Option('--ttl <duration>', 'cancel the server this long after it is first ready, such as 4d').argParser(
      durationFor('ttl'),
    ),
  expiresAt: () => new Option('--expires-at <time>', 'cancel the server at this time, such as 2027-01-31T18:00:00Z'),
  deletionDelay: () =>
    new Option('--deletion-delay <duration>', 'keep the server this long after a deletion, such as 1d').argParser(
      durationFor('deletionDelay'),
    ),
  power: () => new Option('--power <state>', 'switch the server on or off, where the provider API can').choices(POWERS),
  changePolicy: () =>
    new Option('--change-policy <policy>', 'what a change of spec may do to the server').choices(CHANGE_POLICIES),
  sshCheck: () =>
    new Option('--ssh-check <place>', 'count the server as ready only while SSH answers there').choices(SSH_CHECKS),
  connectionSecretName: () =>
    new Option('--connection-secret <name>', 'Secret that the operator creates, with addresses, SSH and VNC data'),
  deletionPolicy: () => yes('--retain', 'keep the server running when the object is deleted'),
  deletionProtection: () => yes('--protect', 'protect the server from being cancelled'),
};

const yes = (flag: string, what: string): Option => new Option(flag, what).default(false);
const repeatable = (flag: string, what: string): Option => new Option(flag, what).argParser(collect).default([]);

export function addSpecFlags(command: Command): Command {
  const usual = command.configureOutput();
  command.configureOutput({
    outputError: (text, write) => usual.outputError?.(text, (shown) => write(withFlag(shown))),
  });
  for (const option of Object.values(OPTIONS)) command.addOption(option());
  return command;
}

/** The flag that sets each field of spec. */
export const SPEC_FLAGS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(OPTIONS).map(([field, option]) => [field, option().long ?? '']),
);

/** The compiler demands a line here for every field of spec. */
const FIELDS: { [F in keyof Required<VirtualServerSpec>]: (flags: SpecFlags) => unknown } = {
  product: ({ product }) => product,
  image: ({ image }) => image,
  diskSize: ({ diskSize }) => diskSize,
  identifier: ({ identifier }) => identifier,
  sshKeys: ({ sshKey }) => (sshKey.length > 0 ? sshKey.map(keyFor) : undefined),
  sshKeysFrom: ({ sshKeyFrom }) =>
    sshKeyFrom.length > 0 ? sshKeyFrom.map((from) => reference(from, '--ssh-key-from')) : undefined,
  ipv4: ({ ipv4 }) => (ipv4 ? true : undefined),
  zone: ({ zone }) => zone,
  hostname: ({ hostname }) => hostname,
  serverName: ({ serverName }) => serverName,
  diskType: ({ diskType }) => diskType,
  forwardDNS: ({ forwardDns }) => (forwardDns ? true : undefined),
  reverseDNS: ({ reverseDns }) => (reverseDns ? true : undefined),
  advanced: ({ advanced }) => (advanced.length > 0 ? Object.fromEntries(advanced.map(advancedField)) : undefined),
  storedUserData: ({ storedUserData }) => storedUserData,
  userData: ({ userData }) => userData && contentOf(userData),
  userDataFrom: ({ userDataFrom }) => userDataFrom && userDataSource(userDataFrom),
  apiKeySecretRef: ({ secret }) => (secret === undefined ? undefined : { name: secret }),
  deletionPolicy: ({ retain }) => (retain ? 'Retain' : undefined),
  deletionProtection: ({ protect }) => (protect ? true : undefined),
  power: ({ power }) => power,
  changePolicy: ({ changePolicy }) => changePolicy,
  sshCheck: ({ sshCheck }) => sshCheck,
  connectionSecretName: ({ connectionSecret }) => connectionSecret,
  expiresAt: ({ expiresAt }) => expiresAt,
  ttl: ({ ttl }) => ttl,
  deletionDelay: ({ deletionDelay }) => deletionDelay,
};

/** The fields that flags set, as the user typed them: not checked yet. Throws CommandError for an unreadable key. */
export function specFrom(flags: SpecFlags): Record<string, unknown> {
  const values = Object.entries(FIELDS).map(([field, valueFrom]) => [field, valueFrom(flags)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Names the flag if a user spells one like a field of spec that has another: --deletion-policy. */
function withFlag(text: string): string {
  const [unknown, option = ''] = /^.*unknown option '--([a-z-]+)'/.exec(text) ?? [];
  const meant = option.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const [field, flag] = Object.entries(SPEC_FLAGS).find(([each]) => each === meant) ?? [];
  return unknown === undefined || field === undefined ? text : `${unknown}\n(${flag} sets spec.${field})\n`;
}

interface SpecSource {
  schema?: z.ZodType;
  /** The file with the spec, if no flags set it. */
  file?: string | undefined;
  /** The flags for a set, by field. */
  setFlags?: Readonly<Record<string, string>>;
}

/** Throws CommandError that names the flags, or the field of the file with the spec. */
export function checkSpec(spec: object, { schema = specSchema, file, setFlags = {} }: SpecSource = {}): void {
  const parsed = schema.safeParse(spec);
  if (parsed.success) return;
  const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
  const field = ['spec', ...path].join('.');
  if (file !== undefined) throw new CommandError(EXIT.usage, `--filename ${file}: ${field}: ${message}`);
  const flags: Readonly<Record<string, string>> = { ...setFlags, ...SPEC_FLAGS };
  const at = path.findLastIndex((part) => Object.hasOwn(flags, part));
  const own = at < 0 ? undefined : String(path[at]);
  // The value of this flag begins with a field.
  const inner = own === 'advanced' ? path.slice(at + 1) : [];
  const named =
    own === undefined ? culprits(spec, schema).map((each) => flags[each] ?? each) : [[flags[own], ...inner].join(' ')];
  throw new CommandError(EXIT.usage, `${named.length === 0 ? field : named.join(', ')}: ${message}`);
}

/** The fields that contradict each other: without one of them, the spec would be valid. */
function culprits(spec: object, schema: z.ZodType): string[] {
  const { template } = spec as { template?: { spec: object } };
  const fields = template === undefined ? spec : template.spec;
  return Object.keys(fields).filter((field) => {
    const { [field as keyof object]: _, ...others } = fields;
    const rest = template === undefined ? others : { ...spec, template: { ...template, spec: others } };
    return schema.safeParse(rest).success;
  });
}

/** The public key that a flag names. Throws CommandError that names the flag. */
function keyFor(textOrFile: string): string {
  try {
    return readPublicKey(textOrFile);
  } catch (error) {
    throw error instanceof CommandError ? new CommandError(error.exitCode, `--ssh-key: ${error.message}`) : error;
  }
}

/** Throws CommandError that names the flag. */
function contentOf(file: string): string {
  try {
    // Removes a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const why = error instanceof TypeError ? 'is no text in UTF-8' : `cannot be read: ${fileProblem(error)}`;
    throw new CommandError(EXIT.usage, `--user-data: ${JSON.stringify(file)} ${why}`);
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Field and value, not checked yet. Throws CommandError that names the fields. */
function advancedField(text: string): [string, unknown] {
  const fields: Readonly<Record<string, z.ZodType>> = advancedSchema.shape;
  const [field = '', ...rest] = text.split('=');
  const schema = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (schema === undefined || rest.length === 0)
    throw new CommandError(
      EXIT.usage,
      `invalid --advanced: use FIELD=VALUE, with one of the fields ${Object.keys(fields).join(', ')}`,
    );
  const value = rest.join('=');
  if (schema.safeParse(value).success) return [field, value];
  return [field, BOOLEANS[value] ?? (/^[0-9]+$/.test(value) ? Number(value) : value)];
}

function userDataSource(text: string): VirtualServerSpec['userDataFrom'] {
  const [kind, name, key, ...rest] = text.split('/');
  if (kind === 'configmap' && name && key && rest.length === 0) return { configMapKeyRef: { name, key } };
  return { secretKeyRef: reference(text, '--user-data-from', ', or configmap/NAME/KEY for a ConfigMap') };
}

/** `otherwise`: what else the flag takes. */
function reference(text: string, flag: string, otherwise = ''): { name: string; key: string } {
  const [name, key, ...rest] = text.split('/');
  if (!name || !key || rest.length > 0) {
    throw new CommandError(
      EXIT.usage,
      `invalid ${flag}: use SECRET/KEY, the name of a Secret and of a key in it${otherwise}`,
    );
  }
  return { name, key };
}
