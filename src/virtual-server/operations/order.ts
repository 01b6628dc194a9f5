/**
 * Orders a server. All that an order has to wait for comes first. Then claim, journal and POST follow each other at once,
 * because after the claim, a crash may leave an order with an unknown outcome. The visit continues with the first poll of
 * the task (follow.ts).
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { without } from '../../base/without.ts';
import { timestamp } from '../../base/duration.ts';
import { ended } from '../../base/text.ts';
import { RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import { orderBody } from '../../api/ordered-fields.ts';
import { isClaimed, unknownIn, type Claimed, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { callProblem, missing, reasonOf, type Missing } from '../../accounts/decision/failure.ts';
import { readCatalog } from '../../accounts/accounts.ts';
import { ProviderError } from '../../provider/error.ts';
import type { CreateOutcome, OpenOrder, Session } from '../../provider/types.ts';
import { compose, eventsOf } from '../decision/compose.ts';
import { decide } from '../decision/decide.ts';
import { withEvidence, withoutFailures, withoutPlan } from '../decision/memo.ts';
import { ON_CHANGE } from '../decision/next.ts';
import { goOn, jittered, parked, endVisit, retryLater, withoutKey } from '../decision/outcome.ts';
import { newRecord, withOrderAgain, withoutAttempt } from '../decision/known-record.ts';
import { priceText, type Model } from '../decision/price.ts';
import { specProblem } from '../decision/spec.ts';
import { taskField } from '../decision/server-status.ts';
import type { Outcome, Park } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Full, HourlyPlace, NoSum } from '../shared/limits.ts';
import { unknownMessage } from '../decision/sentences.ts';
import { unsentIn } from '../journal/journal.ts';
import type { Visit } from '../visit.ts';
import { lookForFailed } from './reads.ts';
import { readSshKeys } from './ssh-keys.ts';
import { err, ok, type Result } from '../../base/result.ts';

/** How old the provider's lists may be when the operator decides on an order (ms). */
const CATALOG_AGE_MS = 5_000;
const RECHECK_MS = 60_000;
const HOUR_MS = 60 * 60_000;

/** Undefined if the process is about to end and orders nothing more. */
export async function order(visit: Visit, at: View): Promise<Outcome | undefined> {
  const { quota, limit, timers } = visit.services;
  const { namespace, uid } = visit.object.metadata;

  const inputs = await inputsOfOrder(visit, at);
  if (!inputs.ok) return inputs.error;
  const { session, sshKeysFrom } = inputs.value;

  const place = quota.reserve(namespace, uid, wantedBy(visit.object));
  if ('full' in place) return parked(visit.view(), noPlace(visit.view(), place));
  visit.reserves(place);
  const hourly = limit.reserve(namespace, uid, timers.monotonic());
  if ('freeInMs' in hourly) return parked(visit.view(), createLimit(hourly.freeInMs));
  visit.reserves(hourly);

  const opened = await open(session);
  if (!opened.ok) return lacking(visit, opened.error);
  try {
    return await claimAndSend(visit, session.account, sshKeysFrom, opened.value, hourly);
  } finally {
    opened.value.close();
  }
}

/**
 * Stops the order if the server of a failed order has appeared after all, or may exist; undefined if neither is so. The mirror
 * is written in the same step, or it would list the order as failed again.
 */
async function openedAgain(
  visit: Visit,
  own: ServerRecord | undefined,
  session: Session,
): Promise<Outcome | undefined> {
  if (own?.failed === undefined) return undefined;
  const { appeared, unclear } = await lookForFailed(visit, own.failed, session);
  const at = visit.view();
  if (appeared !== undefined) {
    const record = withOrderAgain(own, appeared);
    const status = compose(at.object, { record }, at.now);
    // The operator has acted on your annotation about this order; it must not outweigh what was just seen.
    const memo = withEvidence(withoutPlan(at.memo), { denials: undefined, asked: undefined });
    return { ...goOn(memo, { record }), status };
  }
  if (unclear === undefined) return undefined;
  const message = `${ended(unclear)} It may be the server of an order that failed, so the operator orders no other one until that is clear`;
  return parked(at, { verdict: { reason: 'CreateBackOff', message }, when: { operation: 'order' } });
}

type OrderInputs = Result<{ session: Session; sshKeysFrom: string[] }, Outcome>;

/** What an order needs that is only read; or why nothing can be ordered. */
export async function inputsOfOrder(visit: Visit, at: View): Promise<OrderInputs> {
  const key = await visit.key(at);
  if (!key.ok) return err(withoutKey(visit.view(), 'order', key.error));
  const { session } = key.value;
  const { object } = visit;

  const open = await openedAgain(visit, at.own, session);
  if (open !== undefined) return err(open);

  const sshKeys = await readSshKeys(object, visit.services.kube);
  if (!sshKeys.ok) return err(lacking(visit, sshKeys.error));

  const lists = await readCatalog(session, CATALOG_AGE_MS);
  if (!lists.ok) return err(lacking(visit, lists.error));
  const problem = specProblem(object.spec, lists.value);
  if (problem !== undefined) return err(parked(visit.view(), invalidSpec(visit.view(), problem)));
  return ok({ session, sshKeysFrom: sshKeys.value });
}

/** Waits for a turn, a token and a connection. */
async function open(session: Session): Promise<Result<OpenOrder, Missing>> {
  try {
    return ok(await session.openOrder());
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return err(missing(reasonOf(error), `Nothing was ordered: ${callProblem(error)}`, error.retryAfterMs));
  }
}

/** From here on, nothing waits but for the disk, the API server and the provider's answer. */
async function claimAndSend(
  visit: Visit,
  account: string,
  sshKeysFrom: readonly string[],
  opened: OpenOrder,
  hourly: HourlyPlace,
): Promise<Outcome | undefined> {
  const { journal, leads, mint, quota, timers } = visit.services;
  const { namespace, name, uid } = visit.object.metadata;

  // Its time may be up after the wait, or the journal broken.
  const view = visit.view();
  if (decide(view).type !== 'order') return goOn(view.memo);
  // A price may have become known during the wait.
  const place = quota.reserve(namespace, uid, wantedBy(visit.object));
  if ('full' in place) return parked(view, noPlace(view, place));
  if (!visit.beginsOrder()) return undefined;

  const attempt = unsentIn(journal.entries(uid), account) ?? mint();
  const now = timers.now();
  await journal.minted({ namespace, name, uid, attempt, account, mintedAt: new Date(now).toISOString() });
  visit.claims(attempt);
  // If it fails, the journal keeps the attempt: a proxy may answer 409 to an applied claim, and the note proves that
  // nothing was sent. The next claim names the same attempt.
  await visit.commit({ name: 'claim', next: goOn(view.memo, { record: claimed(view, attempt, account) }) });
  const own = ownOfClaim(visit, view, attempt);
  if (own === undefined) {
    // Without the claim, the entry in the journal lets the next step take the attempt back.
    visit.claims(undefined);
    return goOn(visit.view().memo);
  }

  const answer = await opened.send(orderBody({ ...visit.object.spec, sshKeysFrom }), {
    maySend: leads,
    sending: () => {
      visit.keeps(hourly);
      hourly.sent(attempt, timers.monotonic());
      return journal.sending(uid, attempt);
    },
    unsent: () => journal.createdNothing(uid, attempt),
  });
  if (answer.kind === 'created') await journal.task(uid, attempt, answer.task);
  if (answer.kind === 'notCreated' || answer.kind === 'refused') {
    hourly.release();
    await journal.createdNothing(uid, attempt);
  }
  return afterAnswer(visit.view(), own, answer);
}

/**
 * The record with the claim, as the API server has stored it. Undefined if it has stored something else: versions repeat
 * after a restore of etcd, so the claim may have hit an object that this process has not seen.
 */
function ownOfClaim(visit: Visit, before: View, attempt: string): Claimed | undefined {
  const { own, deleting } = visit.view();
  if (visit.hasChangedSince(before) || deleting || own?.attempt !== attempt) return undefined;
  return isClaimed(own) ? own : undefined;
}

/** The record of an object that claims an attempt. */
export function claimed({ object, own, now }: View, attempt: string, account: string): Claimed {
  const { orphans, failed, settled } = own ?? {};
  return {
    ...(own && unknownIn(own)),
    ...newRecord(object.metadata.uid),
    account,
    attempt,
    attemptedAt: timestamp(now),
    orphans,
    failed,
    settled,
  };
}

function lacking(visit: Visit, { reason, message, retryAfterMs }: Missing): Outcome {
  const verdict = { reason, message };
  return parked(visit.view(), { verdict, when: { operation: 'order', atLeastMs: retryAfterMs } });
}

function invalidSpec({ timing }: View, problem: string): Park {
  const message = `${problem}. The operator ordered nothing`;
  const afterMs = Math.max(RECHECK_MS, timing.resyncMs);
  return { verdict: { reason: 'InvalidSpec', message }, when: { operation: 'order', afterMs } };
}

const wantedBy = ({ metadata: { name }, spec: { product, diskSize } }: VirtualServer): Model & { name: string } => ({
  name,
  product,
  diskSize,
});

function noPlace({ object, timing }: View, full: Full): Park {
  return { verdict: limitVerdict(object, full), when: { operation: 'order', afterMs: timing.pollMs } };
}

function limitVerdict({ metadata: { namespace }, spec }: VirtualServer, full: Full): Verdict {
  switch (full.full) {
    case 'servers':
      return { reason: 'ServerLimit', message: serverLimit(full) };
    case 'price':
      return { reason: 'PriceLimit', message: priceLimit(full, spec) };
    case 'orphaned':
      return { reason: 'PriceUnknown', message: orphanPriceUnknown(full) };
    case 'unstated':
      return { reason: 'PriceUnknown', message: priceUnknown(full, namespace) };
    case 'unread':
      return { reason: 'PricePending', message: pricePending(full) };
  }
}

function serverLimit({ maximum }: Extract<Full, { full: 'servers' }>): string {
  return (
    `The namespace has ${maximum} servers, the maximum that --max-servers-per-namespace allows; retained servers ` +
    'and those that an object reports as OrphanedServer count too. Delete a server, or ask an administrator for a higher limit. The operator then orders this server'
  );
}

/** Reveals only the price of a product, which the provider's price list shows too, about other namespaces. */
function priceLimit(
  { maximum, sum, price }: Extract<Full, { full: 'price' }>,
  { product, diskSize }: VirtualServerSpec,
): string {
  const one = `A server with product ${product} and diskSize ${diskSize}`;
  const costs =
    price === undefined ? `What ${lowered(one)} costs is unknown, since none runs` : `${one} costs ${priceText(price)}`;
  return (
    `The servers of the namespace cost ${priceText(sum)}, and --max-price-per-namespace allows ${priceText(maximum)}, in the ` +
    `provider's unit; servers on their way, retained servers and those that an object reports as OrphanedServer count too. ${costs}. Delete a server, or ask an ` +
    'administrator for a higher limit. The operator then orders this server'
  );
}

function priceUnknown({ maximum, names }: NoSum, namespace: string): string {
  return (
    `The provider states no readable price for the server of ${someOf(names)}, so the operator cannot tell what the servers of ` +
    `the namespace cost. --max-price-per-namespace allows ${priceText(maximum)}, so the operator orders nothing in this namespace ` +
    'until the provider states the price. If it never does, delete that object, or ask an administrator to end the limit for ' +
    `this namespace: add ",${namespace}=0" to the value of --max-price-per-namespace`
  );
}

function orphanPriceUnknown({ maximum, names }: NoSum): string {
  return (
    `The operator cannot tell what the servers cost that ${someOf(names)} reports as OrphanedServer: no object holds them, and no ` +
    'server with the same product and disk size was read. --max-price-per-namespace allows ' +
    `${priceText(maximum)}, so the operator orders nothing in this namespace until you have resolved OrphanedServer there, ` +
    'or such a server was read'
  );
}

function pricePending({ maximum, names }: NoSum): string {
  return (
    `The operator does not know yet what the server of ${someOf(names)} costs, and --max-price-per-namespace allows ` +
    `${priceText(maximum)}. It orders this server after it has read that price, if there is room`
  );
}

/** How many objects a message names. */
const NAMED = 3;

function someOf(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

const lowered = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;

function createLimit(afterMs: number): Park {
  const message =
    'The namespace has reached --max-creates-per-hour. The operator orders the server as soon as the limit allows it';
  return { verdict: { reason: 'CreateLimit', message }, when: { operation: 'order', afterMs } };
}

/**
 * What the answer to an order means for its object (design.md, "What an answer to the order means"; provider/create-server.ts made
 * it of the HTTP response). Any fields that the status had do not describe a server of this object. Pure.
 */
export function afterAnswer(at: View, record: Claimed, answer: CreateOutcome): Outcome {
  switch (answer.kind) {
    case 'created':
      return created(at, { ...record, task: answer.task }, answer.task);
    case 'notCreated': {
      const { error } = answer;
      const left = withoutAttempt(record);
      const verdict = { reason: reasonOf(error), message: `Nothing was ordered: ${callProblem(error)}` };
      const parts = { record: left, fields: {}, verdict };
      return { ...retryLater(at, 'order', parts, error.retryAfterMs, left), error };
    }
    case 'refused': {
      const { error } = answer;
      const left = withoutAttempt(record);
      const hourly = answer.status === 402 || answer.status === 403;
      const then = hourly
        ? `The operator orders again every hour, and at once when you change spec or the annotation ${RECONCILE_AT_ANNOTATION}. ` +
          'Fix the cause at the provider'
        : 'The operator orders again when you change spec';
      const message = `${ended(error.message)} ${then}`;
      const afterMs = hourly ? jittered(HOUR_MS, at) : Infinity;
      const parts = { record: left, fields: {}, verdict: { reason: 'CreateRejected', message } as const };
      return { ...endVisit(at, parts, { operation: 'order', afterMs }, withoutFailures(at.memo), left), error };
    }
    case 'unknown': {
      const { error, task } = answer;
      const hinted = task === undefined ? record : { ...record, hintedTask: task };
      const { message: subject } = error;
      const verdict = { reason: 'CreateOutcomeUnknown', message: unknownMessage(hinted, subject), subject } as const;
      const parts = { record: hinted, fields: {}, verdict };
      return { ...endVisit(at, parts, ON_CHANGE, at.memo, hinted === record ? undefined : hinted), error };
    }
  }
}

/** The first poll follows at once: an early identifier leaves less time in which another server could be mistaken for this one. */
function created({ object, memo, now }: View, record: ServerRecord, task: TaskNumber): Outcome {
  const goes = goOn(withoutPlan(withoutFailures(memo)), { record });
  const fields = without(object.status ?? {}, 'record', 'conditions', 'observedGeneration');
  if (Object.keys(fields).length === 0) return goes;
  const message = `Order accepted (task ${task}); the server is being created`;
  const parts = {
    record,
    fields: { task: taskField(task, undefined) },
    verdict: { reason: 'Creating', message } as const,
  };
  const status = compose(object, parts, now);
  return { ...goes, status, events: eventsOf(object.status, status) };
}
