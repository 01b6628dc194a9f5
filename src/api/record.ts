/**
 * The record: what the operator knows about the server that it may have ordered for one object. It is stored in a
 * metadata annotation and in full in `status.record`, because either copy can be lost and the provider API has no call
 * to find a server again.
 */
import * as z from 'zod';
import { MAX_PRICE } from '../base/price.ts';
import { err, ok, type Result } from '../base/result.ts';

/** Maximum length of a stored identifier, a host label at the provider. Longer ones are rejected, never cut. */
export const MAX_IDENTIFIER = 253;
/** A record with so many orphans gets no other late server. Each is a server that may cost money, so none is dropped. */
export const MAX_ORPHANS = 16;
/** How many orphans a record can have: a hand-over brings those of the giver along. */
const MAX_ORPHANS_READ = 256;
/** Maximum number of hardware addresses, and of IPv6 addresses, in a fingerprint. */
export const MAX_FINGERPRINT = 8;
const MAX_FINGERPRINT_TEXT = 64;
/** How many failed orders a record keeps; the newest ones win. */
export const MAX_FAILED = 16;
const MAX_SAID = 256;
const MAX_PRODUCT = 253;
/** How many resolved attempts a record keeps; the newest ones win. */
export const MAX_SETTLED = 16;

/** A number, or the digits of one that a double cannot hold. */
const isLong = (digits: string): boolean => /^[1-9]\d{15,39}$/.test(digits) && !Number.isSafeInteger(Number(digits));
const number = z.union([z.int().min(0), z.string().refine(isLong)]).meta({ 'x-kubernetes-int-or-string': true });
const identifier = z.string().min(1).max(MAX_IDENTIFIER).describe("The provider's identifier of the server.");
const task = number.describe("The provider's number of the task that creates the server.");
const attempt = z.string().min(1).max(64).describe('Name that the operator gave to one attempt to order the server.');

/** Keeps unknown keys, which a newer version may have written. The type omits them. */
function open<S extends z.ZodRawShape>(shape: S): z.ZodType<z.infer<z.ZodObject<S>>> {
  return z.looseObject(shape);
}

const attemptedAt = z.iso.datetime().max(64).optional().describe('When the operator began the attempt.');

const orphanSchema = open({
  attempt: attempt.optional(),
  attemptedAt,
  task: task.optional(),
  identifier: identifier.optional(),
}).describe('A server, or a task that creates one, that this object no longer refers to.');

const chosen = z
  .literal(true)
  .optional()
  .describe('spec.identifier named the server. Others can choose the same identifier, so it alone proves nothing.');
const reason = z.string().max(64);
const said = z.string().max(MAX_SAID).describe('What the provider said about it.');

const failedSchema = open({
  attempt: attempt.optional(),
  attemptedAt,
  task: task.optional(),
  identifier,
  account: z.string().max(64).optional(),
  said: said.optional(),
  product: z.string().max(MAX_PRODUCT).optional().describe('What it ordered.'),
  retryAt: z.iso
    .datetime()
    .max(64)
    .optional()
    .describe('Until then the operator sends no other order, unless you change the object.'),
  chosen,
  owner: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('uid of the object that sent the order, if this one took over its server.'),
}).describe(
  'An order that failed, with the server that it named. The operator looks for this server from time to time.',
);

const addresses = z.array(z.string().max(MAX_FINGERPRINT_TEXT)).max(MAX_FINGERPRINT);
const fingerprintSchema = open({
  macs: addresses.optional().describe('Hardware addresses.'),
  ipv6: addresses.optional().describe('IPv6 addresses, if no hardware address identifies the server.'),
}).describe(
  'What tells the server from another one with its identifier; empty where the provider shows nothing of it.',
);

const doubtSchema = open({
  identifier,
  reason: reason.describe(
    '`AbsenceUnproven`: the provider denied the server. `IdentityUnproven`: it showed one that may be another.',
  ),
  since: z.iso.datetime().max(64).describe('When the doubt began.'),
}).describe(
  'The next server with this identifier has to prove that it is the one of this object. Stays until one has.',
);

const sentSchema = open({
  at: z.iso.datetime().max(64).describe('When the last request was about to be sent.'),
  body: z.string().max(64).describe('Hash of what it sent: only the same may be sent again.'),
  inUse: z
    .literal(true)
    .optional()
    .describe(
      'The provider answered that the identifier is in use, so no denial alone proves that there is no server.',
    ),
  chosen,
}).describe(
  'An order under an identifier, which the operator or spec.identifier chose. It is sent again until the provider has answered.',
);

const orderedSchema = open({
  attempt,
  product: z.string().max(MAX_PRODUCT),
  userDataDigest: z
    .string()
    .max(64)
    .optional()
    .describe('16 bits of a hash of the user data that it took from a Secret or a ConfigMap.'),
}).describe(
  'What the order asked for, by which a server that appears late is told from another one with its identifier.',
);

const openSchema = open({
  attempt: attempt.optional(),
  reason: reason.describe('The reason that Ready had when the question came up.'),
  since: z.iso.datetime().max(64).describe('When it came up.'),
  cause: z.string().max(MAX_SAID).optional().describe('Why the answer to the order is missing.'),
}).describe('What is open about the order, whatever else Ready shows. Stays until the provider tells, or you do.');

const onceSchema = open({
  asked: z.string().max(64).describe('The value of the annotation that asked for it.'),
  answer: z
    .enum(['Accepted', 'Refused', 'Skipped'])
    .optional()
    .describe('What came of it. Absent from before the call until its answer: if that is lost, nothing is sent again.'),
  said: said.optional(),
}).describe('What an annotation asks to be done once.');

const priceSchema = open({
  identifier,
  amount: z
    .number()
    .min(0)
    .max(MAX_PRICE)
    .optional()
    .describe('The last price that the provider stated while the server was not dormant.'),
  product: z.string().optional(),
  diskSize: z.int().min(0).optional(),
  extraCores: z.int().min(0).optional(),
  extraMemory: z.int().min(0).optional(),
  period: z
    .string()
    .max(32)
    .optional()
    .describe(
      'The billing period that orders have, if the server was seen with it. Absent: the provider has shown none.',
    ),
  otherPeriod: z.string().max(32).optional().describe('The one that the server has now, if orders do not have it.'),
  isDormant: z.literal(true).optional().describe('The last read has shown the server dormant.'),
  unstatedSince: z.iso
    .datetime()
    .max(64)
    .optional()
    .describe('Since when the provider states no price of the server that can be read.'),
}).describe('What the server costs, and of which product, disk size and extras that is the price.');

const changePrice = z.number().min(0).max(MAX_PRICE).optional();
const isUnpriced = z.literal(true).optional().describe('In place of `price`: what the server will cost is unknown.');

const changeSchema = open({
  identifier,
  change: z.string().max(512).describe('What the change sends. Of a long text, the start and a checksum.'),
  since: z.iso.datetime().max(64).describe('When the operator began it.'),
  acceptedAt: z.iso.datetime().max(64).optional().describe('When the provider last accepted it.'),
  phase: z
    .enum(['stop', 'start'])
    .optional()
    .describe(
      'The operator has shut the server down for the change, or was about to: it is to stop, or to start again.',
    ),
  stoppedAt: z.iso.datetime().max(64).optional().describe('When it asked the server to shut down.'),
  wasOff: z.literal(true).optional().describe('The server was seen off since.'),
  isRestarted: z.literal(true).optional().describe('The server is restarted for a resize that waits for that.'),
  refused: z.string().max(MAX_SAID).optional().describe('Why it is not sent again.'),
  isUnavailable: z.literal(true).optional().describe('The provider has no such call.'),
  price: changePrice.describe(
    'What the server is expected to cost after it, while the server is shut down for it and it is not sent.',
  ),
  isUnpriced,
  sentAt: z.iso
    .datetime()
    .max(64)
    .optional()
    .describe('In place of `acceptedAt`, from an earlier version, which noted with the change what it may cost.'),
}).describe('The change of the server in place that the operator makes.');

const changeRequestsSchema = open({
  identifier,
  at: z.iso.datetime().max(64).describe('When the last of them was sent.'),
  change: z.string().max(512).optional().describe('What they send. Absent if they do not all send the same.'),
  price: changePrice.describe(
    'What the server is expected to cost after the dearest of them. Absent if none concerns the price.',
  ),
  isUnpriced,
}).describe(
  'Requests to change the server that may still have an effect: each was about to be sent, and no answer refused it. ' +
    'They end when reads show them, or have not shown them for 30 minutes.',
);

const triesSchema = open({
  identifier,
  wanted: z.string().max(512).describe('What spec asks for, in the fields for which these count.'),
  stops: z
    .int()
    .min(0)
    .describe(
      'How often the server may have been shut down for changes. Counts a shutdown before it is asked for, and requests in a row ' +
        'without an answer as one.',
    ),
  takenBack: z.int().min(0).describe('How often the provider has taken back a field when it made a change.'),
}).describe('How often the operator has tried to make the server what spec asks for.');

/** The format that this version writes, and the newest format that it understands. */
export const RECORD_FORMAT = 2;
/** `named`: the operator ordered the server under an identifier. An earlier version reports such a record as too new. */
export const RECORD_MODES = ['create', 'adopt', 'named'] as const;

/** The order of the keys is their order in the text of a record. */
const shape = {
  format: z.int().min(1).optional().describe('Format of the record; 1 if absent.'),
  owner: z.string().min(1).max(128).describe('uid of the object to which this record belongs.'),
  mode: z.enum(RECORD_MODES).describe('Whether the operator ordered the server or took over an existing one.'),
  account: z
    .string()
    .max(64)
    .optional()
    .describe('Hashes of the base URL and the key ID with which the operator last saw the server.'),
  attempt: attempt.optional(),
  attemptedAt,
  ordered: orderedSchema.optional(),
  sent: sentSchema.optional(),
  task: task.optional(),
  hintedTask: task
    .optional()
    .describe('A task that an unexpected answer to the order named. A hint for you; the operator does not act on it.'),
  createFailure: open({
    said,
    generation: z.int().min(0).optional().describe('Generation of the object when that was found out.'),
  })
    .optional()
    .describe('The task of the order answers that the order failed; whether a server exists is still open.'),
  identifier: identifier.optional(),
  fingerprint: fingerprintSchema.optional(),
  doubt: doubtSchema.optional(),
  open: openSchema.optional(),
  price: priceSchema.optional(),
  reboot: onceSchema.optional(),
  forceOff: onceSchema.optional(),
  change: changeSchema.optional(),
  changeRequests: changeRequestsSchema.optional(),
  tries: triesSchema.optional(),
  goneRefuted: z
    .literal(true)
    .optional()
    .describe(
      'The operator saw the server, or ordered it, after you annotated server-gone. The annotation is void until you set it again.',
    ),
  missingAt: z.iso.datetime().max(64).optional().describe('When the operator decided that the server is gone.'),
  readyAt: z.iso
    .datetime()
    .max(64)
    .optional()
    .describe('When the server first became ready; spec.ttl counts from here.'),
  expiredAt: z.iso
    .datetime()
    .max(64)
    .optional()
    .describe('When the operator cancelled the server because it expired. No other server is ordered.'),
  takenFrom: open({
    name: z.string().max(MAX_IDENTIFIER).describe('Name of that object.'),
    uid: z.string().min(1).max(128).describe('uid of that object.'),
    identifier,
  })
    .optional()
    .describe('The deleted object that handed its server over to this one.'),
  orphans: z
    .array(orphanSchema)
    .max(MAX_ORPHANS_READ)
    .optional()
    .describe('Servers for which you have to look yourself.'),
  failed: z.array(failedSchema).max(MAX_FAILED).optional().describe('Orders that failed and created no server.'),
  settled: z.array(attempt).max(MAX_SETTLED).optional().describe('Earlier attempts that you resolved.'),
};

/** The keys that this version knows, in the order of a record's text. */
const KEYS = Object.keys(shape) as Field[];
const KNOWN: ReadonlySet<string> = new Set(KEYS);

export const recordSchema = open(shape);
/** The fields of a record as they are stored, side by side. */
export type StoredRecord = z.infer<typeof recordSchema>;
type Field = keyof StoredRecord;
/**
 * What each field is about. A field of the `server` says what the server is, and what was done to it: whatever object takes the
 * server over has it too. A field of the `holding` is about the server as this object has come to hold it.
 */
const ABOUT = {
  format: 'object',
  owner: 'object',
  mode: 'object',
  account: 'object',
  attempt: 'claim',
  attemptedAt: 'claim',
  ordered: 'claim',
  sent: 'claim',
  task: 'task',
  hintedTask: 'claim',
  createFailure: 'task',
  identifier: 'server',
  fingerprint: 'server',
  doubt: 'holding',
  open: 'claim',
  price: 'server',
  reboot: 'server',
  forceOff: 'server',
  change: 'server',
  changeRequests: 'server',
  tries: 'server',
  goneRefuted: 'holding',
  missingAt: 'holding',
  readyAt: 'server',
  // No other server is ordered, even if this one is forgotten.
  expiredAt: 'object',
  takenFrom: 'holding',
  orphans: 'object',
  failed: 'object',
  settled: 'object',
} as const satisfies Record<Field, 'object' | 'claim' | 'task' | 'server' | 'holding'>;
type Subject = (typeof ABOUT)[Field];
type FieldAbout<S extends Subject> = { [F in Field]: (typeof ABOUT)[F] extends S ? F : never }[Field];

function fieldsAbout<S extends Subject>(...subjects: readonly S[]): readonly FieldAbout<S>[] {
  return KEYS.filter((field): field is FieldAbout<S> => subjects.some((subject) => subject === ABOUT[field]));
}

/** The fields about an order, which go when it is resolved. */
export const OF_ORDER = fieldsAbout('claim', 'task');
/** The fields that go when the object no longer has its server. */
export const OF_SERVER = fieldsAbout('server', 'holding');
const GIVEN = fieldsAbout('server');
/** What is known about a server that has only a name. */
type OfName = 'identifier' | 'doubt' | 'goneRefuted';
type OfClaim = FieldAbout<'claim'>;
type OfOrder = FieldAbout<'claim' | 'task'>;
type OfServer = FieldAbout<'server' | 'holding'>;

/** The fields of a phase, of which it always has `Always`. It has no other field besides those of every record. */
type Phase<Own extends Field, Always extends Own> = Omit<StoredRecord, OfOrder | OfServer> &
  Pick<StoredRecord, Own> & { [F in Always]: NonNullable<StoredRecord[F]> } & {
    [F in Exclude<OfOrder | OfServer, Own>]?: undefined;
  };

/** No order is open, and no server is known. */
export type Unordered = Phase<never, never>;
/** An order may have been sent, and no answer to it is known. */
export type Claimed = Phase<OfClaim, 'attempt'>;
/** The provider has accepted the order, and its task has named no server yet. */
export type Following = Phase<OfOrder, 'task'>;
/** The provider has named the server, or shown it, or you have named it. What it was ordered with stays known; its task may still run. */
export type Held = Phase<OfOrder | OfServer, 'identifier'>;
/**
 * The order names the identifier, and the provider has not shown the server yet: the order can be sent again. Its task
 * is known to the process that got the answer, and to the mirror.
 */
export type Named = Phase<OfOrder | OfName, 'identifier' | 'attempt' | 'sent'> & { mode: 'named' };
/** The record in each phase. */
interface RecordIn {
  unordered: Unordered;
  claimed: Claimed;
  following: Following;
  named: Named;
  held: Held;
}
export type PhaseName = keyof RecordIn;
export type ServerRecord = RecordIn[PhaseName];

/** The one place that tells the phases apart. A record may have fields of more than one, so the order of the questions counts. */
export function phaseOf(record: Partial<StoredRecord>): PhaseName {
  const { mode, attempt, task, identifier, sent, fingerprint, missingAt } = record;
  const isShown = fingerprint !== undefined || missingAt !== undefined;
  if (mode === 'named' && attempt !== undefined && identifier !== undefined && sent !== undefined && !isShown)
    return 'named';
  if (identifier !== undefined) return 'held';
  if (task !== undefined) return 'following';
  return attempt === undefined ? 'unordered' : 'claimed';
}

/** What the row of the record's phase says. It takes a row for each phase, so that no phase is forgotten. */
export function byPhase<T>(record: ServerRecord, rows: { readonly [P in PhaseName]: (record: RecordIn[P]) => T }): T {
  const row: (record: never) => T = rows[phaseOf(record)];
  return row(record as never);
}

/** True until the provider has answered the order with a task, or you have named the server. */
export const isClaimed = (record: ServerRecord): record is Claimed => phaseOf(record) === 'claimed';

/** True until the provider has shown the server that was ordered under the identifier, or the server is gone. */
export const isNamed = (record: ServerRecord): record is Named => phaseOf(record) === 'named';

/**
 * The record that these fields are. A copy that was damaged, that lags behind, or that was written by hand may have more fields
 * than its phase: they are kept, because they count again once the rest is known.
 */
export function inPhase(stored: StoredRecord): ServerRecord {
  return stored as ServerRecord;
}
/** What the record says of its server, for the object that takes the server over. */
export function givenIn(record: Held): Pick<Held, FieldAbout<'server'>> {
  const entries = GIVEN.map((field) => [field, record[field]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Pick<Held, FieldAbout<'server'>>;
}

export type Fingerprint = z.infer<typeof fingerprintSchema>;
export type DoneOnce = z.infer<typeof onceSchema>;
export type RecordedPrice = z.infer<typeof priceSchema>;
export type RecordedChange = z.infer<typeof changeSchema>;
export type RecordedRequests = z.infer<typeof changeRequestsSchema>;
export type RecordedTries = z.infer<typeof triesSchema>;
export type Orphan = z.infer<typeof orphanSchema>;
export type FailedOrder = z.infer<typeof failedSchema>;

/**
 * The record as `status` stores it: an opaque map, of which the API server knows only what its policies read. The number of
 * declared fields is what each write of an object costs the API server.
 */
export const storedRecordSchema = z
  .looseObject({ attempt: attempt.optional() })
  .describe('What the operator knows about the order and the server.');

/** A record that only a newer version of the operator understands. */
interface NewerRecord {
  /** The part that this version does not know, such as `format 3`. */
  unknown: string;
  /** The fields of the record that this version can read. */
  held: Partial<StoredRecord>;
}

/** Why a text is no record that this version can read. */
interface Unparsed {
  problem: string;
  newer?: NewerRecord;
}

/** Parses the record annotation: a missing one gives `undefined`, an invalid one a problem. Never throws. */
export function parseRecord(text: string | undefined): Result<ServerRecord | undefined, Unparsed> {
  if (text === undefined) return ok(undefined);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err({ problem: 'it is not JSON' });
  }
  const newer = newerRecord(value);
  if (newer !== undefined) return err({ problem: `it has ${newer.unknown}`, newer });
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return ok(inPhase(parsed.data));
  return err({ problem: z.prettifyError(parsed.error).replaceAll(/\s+/g, ' ').slice(0, 300) });
}

/**
 * The valid part of the record in a status, of which the API server checks only the attempt. A record of a newer version is
 * returned unchanged. Of any other record, only valid fields count; without a valid owner and mode there is no record.
 */
export function mirrorIn(status: { record?: object | undefined } | undefined): ServerRecord | undefined {
  const stored = status?.record;
  if (stored === undefined) return undefined;
  if (!mirrors.has(stored)) mirrors.set(stored, readMirror(stored));
  return mirrors.get(stored);
}

/** A visit asks about the same version many times. */
const mirrors = new WeakMap<object, ServerRecord | undefined>();

function readMirror(stored: object): ServerRecord | undefined {
  if (newerRecord(stored) !== undefined || recordSchema.safeParse(stored).success) return stored as ServerRecord;
  const { data } = recordSchema.safeParse({ ...unknownIn(stored), ...validIn(stored, KEYS) });
  return data && inPhase(data);
}

/** Undefined for a record that this version understands, and for anything that is not a record. */
export function newerRecord(value: unknown): NewerRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { format, mode } = value as { format?: unknown; mode?: unknown };
  if (typeof format === 'number' && Number.isInteger(format) && format > RECORD_FORMAT)
    return { unknown: `format ${format}`, held: heldIn(value) };
  if (typeof mode !== 'string' || RECORD_MODES.some((known) => known === mode)) return undefined;
  return { unknown: `mode ${JSON.stringify(mode.slice(0, 64))}`, held: heldIn(value) };
}

/** Excludes fields that show the server to be gone or replaced, because this version may misread them. */
const HELD = ['owner', 'account', 'attempt', 'task', 'identifier', 'orphans'] as const;

/** The readable fields of any record that tell what its object holds. */
export function heldIn(value: object): Partial<StoredRecord> {
  return validIn(value, HELD);
}

/** Of these fields, the ones that are there and valid. */
function validIn(value: object, keys: readonly Field[]): Partial<StoredRecord> {
  const entries = keys.map((key) => [key, shape[key].safeParse((value as Record<string, unknown>)[key]).data] as const);
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined));
}

/** The keys of a record that this version does not know, with their values. */
export function unknownIn(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !KNOWN.has(key)));
}

/** The record as annotation text, with keys in a fixed order so that equal records have equal texts. */
export function formatRecord(record: StoredRecord): string {
  const unknown = Object.entries(unknownIn(record)).sort(([a], [b]) => (a < b ? -1 : 1));
  const known: Partial<Record<string, unknown>> = {};
  for (const key of KEYS) if (record[key] !== undefined) known[key] = record[key];
  return JSON.stringify(unknown.length === 0 ? known : { ...known, ...Object.fromEntries(unknown) });
}

/**
 * A regular expression, also of RE2, without a backslash: the text of a record of this owner that has an attempt. A record that was
 * copied from another object has the uid of that one. The text holds attempts of earlier orders too, after the keys up to here.
 */
export const attemptedText = (owner: string): string =>
  `^[{]("format":[0-9]+,)?"owner":"${owner}","mode":"[a-z]+",("account":"[^"]*",)?"attempt":"`;
