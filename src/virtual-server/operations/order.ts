/**
 * Orders a server. All that an order has to wait for comes first; then it goes one of two ways: under an identifier that the
 * order names (order-named.ts), or as the API documents it (order-anonymous.ts). The visit continues with the first poll
 * of the task (follow.ts).
 */
import { ADOPT_ANNOTATION } from '../../api/names.ts';
import { ended } from '../../base/text.ts';
import type { ServerRecord } from '../../api/record.ts';
import { readCatalog } from '../../accounts/accounts.ts';
import type { Missing } from '../../accounts/decision/failure.ts';
import type { FurtherRead, Session } from '../../provider/types.ts';
import { compose } from '../decision/compose.ts';
import { withEvidence, withoutPlan } from '../decision/memo.ts';
import { FURTHER_AGE_MS, modelOf } from '../decision/price.ts';
import { createLimit, noPlace, wantedBy } from '../decision/order-limits.ts';
import { goOn, lacking, parked, withoutKey } from '../decision/outcome.ts';
import { withOrderAgain } from '../decision/known-record.ts';
import { specProblem } from '../decision/spec.ts';
import type { Outcome, Park } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import type { LateOwner } from '../shared/holders.ts';
import { orderAnonymous } from './order-anonymous.ts';
import { earlierServer, holdAgain } from './earlier-server.ts';
import { orderNamed } from './order-named.ts';
import { lookForFailed, orLacking } from './reads.ts';
import { brokenUserData, readSecrets, type OrderSecrets } from './user-data.ts';
import { err, type Result } from '../../base/result.ts';

/** How old the provider's lists may be when the operator decides on an order (ms). */
const CATALOG_AGE_MS = 5_000;
const RECHECK_MS = 60_000;
const UNNAMED =
  'spec.identifier cannot be set here: orders go without an identifier, because the provider takes none, or by --orders=anonymous';

/** Undefined if the process is about to end and orders nothing more. */
export async function order(visit: Visit, at: View): Promise<Outcome | undefined> {
  const { quota, limit, timers } = visit.services;
  const { namespace, uid } = visit.object.metadata;

  const inputs = await inputsOfOrder(visit, at);
  if (!inputs.ok) return inputs.error;
  const secrets = inputs.value;
  const { session } = secrets;

  // A new order chooses its way here alone. Later, the mode in the record tells which way the order went.
  const named = await orLacking(() => session.ordersNamed());
  if (!named.ok) return lacking(visit.view(), undecided(named.error));

  if (visit.object.spec.identifier !== undefined && !named.value)
    return parked(visit.view(), invalidSpec(visit.view(), UNNAMED));

  // Orders may go the other way only for a while, or since another flag was set.
  const mayBeListed = named.value || session.listsServers();
  const earlier = mayBeListed ? await earlierServer(visit, session, named.value) : undefined;
  if (earlier !== undefined) return 'own' in earlier ? holdAgain(visit, earlier, secrets) : earlier;

  const model = modelOf(visit.object.spec);
  const needsList = quota.needsList(namespace, model);
  const prices = needsList ? (await session.prices(FURTHER_AGE_MS)).list : undefined;
  const wanted = wantedBy(visit.object, prices);
  const place = quota.reserve(namespace, uid, wanted);
  if ('full' in place) return parked(visit.view(), noPlace(visit.view(), place));
  visit.reserves(place);
  const hourly = limit.reserve(namespace, uid, timers.monotonic());
  if ('freeInMs' in hourly) return parked(visit.view(), createLimit(hourly.freeInMs));
  visit.reserves(hourly);

  const terms = { hourly, prices, expectedPrice: quota.expectedPrice(model) ?? wanted.listed };
  return named.value ? orderNamed(visit, secrets, terms) : orderAnonymous(visit, secrets, terms);
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
  if (appeared?.owner === 'own') {
    const record = withOrderAgain(own, appeared.order);
    const status = compose(at.object, { record }, at.now);
    // The operator has acted on your annotation about this order; it must not outweigh what was just seen.
    const memo = withEvidence(withoutPlan(at.memo), { denials: undefined, asked: undefined });
    return { ...goOn(memo, { record }), status };
  }
  const why = appeared === undefined ? unclear : ofAnother(appeared.order.identifier, appeared.owner);
  if (why === undefined) return undefined;
  const message = `${ended(why)} It may be the server of an order that failed, so the operator orders no other one until that is clear`;
  const reason = appeared?.owner === 'waiting' ? 'IdentityUnproven' : 'CreateBackOff';
  return parked(at, { verdict: { reason, message }, when: { operation: 'order' } });
}

/** Names no other object: it may be another tenant's. */
function ofAnother(identifier: string, owner: LateOwner): string {
  const situation = `The provider shows server ${identifier}, which may belong to another order whose server is not known yet`;
  if (owner !== 'waiting') return situation;
  return (
    `${situation}. Look in the provider's control panel whose it is. If the server belongs to this object, set the annotation ` +
    `${ADOPT_ANNOTATION} to its identifier. Otherwise, delete this object and create it again, or resolve that order: its object may be ` +
    'paused, may have a Secret that cannot be used, or the reason CreateOutcomeUnknown or TaskOverdue'
  );
}

type OrderInputs = Result<OrderSecrets, Outcome>;

/** What an order needs that is only read; or why nothing can be ordered. */
export async function inputsOfOrder(visit: Visit, at: View): Promise<OrderInputs> {
  const key = await visit.key(at);
  if (!key.ok) return err(withoutKey(visit.view(), 'order', key.error));
  const { session } = key.value;
  const { object } = visit;

  const open = await openedAgain(visit, at.own, session);
  if (open !== undefined) return err(open);

  const secrets = await readSecrets(object, visit.services.kube, session);
  if (!secrets.ok) return err(lacking(visit.view(), secrets.error));
  const broken = brokenUserData(object, secrets.value);
  if (broken !== undefined) return err(lacking(visit.view(), broken));

  const lists = await readCatalog(session, CATALOG_AGE_MS);
  if (!lists.ok) return err(lacking(visit.view(), lists.error));
  const { zone, advanced } = object.spec;
  const zones = await listFor(
    zone,
    (maxAgeMs) => session.zones(maxAgeMs),
    ({ code }) => code,
  );
  const hosts = await listFor(
    advanced?.hostServer,
    (maxAgeMs) => session.hosts(maxAgeMs),
    (name) => name,
  );
  const problem = specProblem(object.spec, { ...lists.value, zones, hosts });
  if (problem !== undefined) return err(parked(visit.view(), invalidSpec(visit.view(), problem)));
  return secrets;
}

/**
 * The list to check a name by; a new name may be missing in an older list. Undefined: there is nothing to check, or the provider has
 * no such list.
 */
async function listFor<T>(
  wanted: string | undefined,
  read: (maxAgeMs: number) => Promise<FurtherRead<T[]>>,
  nameOf: (entry: T) => string,
): Promise<T[] | undefined> {
  if (wanted === undefined) return undefined;
  const { list } = await read(FURTHER_AGE_MS);
  if (list === undefined || list.some((entry) => nameOf(entry) === wanted)) return list;
  return (await read(CATALOG_AGE_MS)).list;
}

/** With --orders=auto, the order waits for the list of servers. */
function undecided({ message, ...problem }: Missing): Missing {
  const what = 'With --orders=auto, this list decides which way orders go, so the order waits for it';
  const instead = 'If this persists, start the operator with --orders=anonymous';
  return { ...problem, message: `${ended(message)} ${what}. ${instead}` };
}

function invalidSpec({ timing }: View, problem: string): Park {
  const message = `${problem}. The operator ordered nothing`;
  const afterMs = Math.max(RECHECK_MS, timing.resyncMs);
  return { verdict: { reason: 'InvalidSpec', message }, when: { operation: 'order', afterMs } };
}
