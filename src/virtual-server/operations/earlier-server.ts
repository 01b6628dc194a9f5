/**
 * Looks for the server of an earlier order of this object before another one is ordered: etcd may have been restored to a time
 * before its claim, or you chose an identifier that is in use.
 */
import { ADOPT_ANNOTATION } from '../../api/names.ts';
import { saysCancelled } from '../../base/cancelled.ts';
import { ended } from '../../base/text.ts';
import { ResponseError } from '../../provider/error.ts';
import { PagedList } from '../../provider/paged-list.ts';
import type { Missing } from '../../accounts/decision/failure.ts';
import { identifierKey, isSameIdentifier } from '../../base/identifier.ts';
import type { AccountServer, Session } from '../../provider/types.ts';
import { decide } from '../decision/decide.ts';
import { markedName, namedClaim, namesOwner } from '../decision/named.ts';
import { RECHECK_MS } from '../decision/next.ts';
import { failed, goOn, lacking, retryLater, waited } from '../decision/outcome.ts';
import { LISTED, namesOf, cutSaid } from '../decision/sentences.ts';
import type { Outcome } from '../decision/types.ts';
import type { View } from '../decision/view.ts';
import type { Visit } from '../visit.ts';
import { reserveServer } from './adopt.ts';
import { lackIn, orLacking, readServer } from './reads.ts';
import type { OrderSecrets } from './user-data.ts';
import { requestOf, shownMemo } from './order-named.ts';
import { identifierTaken } from './identifier-taken.ts';

/** The identifier of the server that an earlier order of this object has led to. The list may show it before a read does. */
interface Own {
  own: string;
  isRead: boolean;
}

/**
 * The server of an earlier order of this object, whose record was lost; or what happens in place of the order. Undefined if there
 * is none. Asked before an order has a place in any limit, which such a server does not need. `isNamed`: whether the order goes under an
 * identifier.
 */
export function earlierServer(visit: Visit, session: Session, isNamed: boolean): Promise<Outcome | Own | undefined> {
  const { identifier } = visit.object.spec;
  return identifier === undefined ? ownListed(visit, session, isNamed) : lookFor(visit, session, identifier);
}

/** The object holds the server of its earlier order. */
export function holdAgain(visit: Visit, { own, isRead }: Own, secrets: OrderSecrets): Outcome {
  const view = visit.view();
  const { identifier: chosen } = view.object.spec;
  if (decide(view).type !== 'order' || (chosen !== undefined && chosen !== own)) return goOn(view.memo);
  const { digest } = requestOf(visit.object, secrets);
  const claim = { attempt: visit.services.mint(), identifier: own, account: secrets.session.account, body: digest };
  return goOn(isRead ? shownMemo(view, own) : view.memo, { record: namedClaim(view, claim) });
}

/** How old the list may be: the record of an order is not lost that soon after it (ms). */
const LIST_AGE_MS = 5_000;

/**
 * The listed server with the whole name that this object's order sends: etcd may have been restored to a time before its claim.
 * One that the record already has as a failed order is looked for elsewhere. You choose among several.
 */
async function ownListed(visit: Visit, session: Session, isNamed: boolean): Promise<Outcome | Own | undefined> {
  const name = markedName(visit.object);
  if (name === undefined) return undefined;
  const listed = await orLacking(() => listedOf(session));
  if (!listed.ok) return lacking(visit.view(), unlisted(listed.error, session, { isNamed }));
  const { servers, goesOn } = listed.value;
  const view = visit.view();
  const { object, own } = view;
  const earlier = [...(own?.failed ?? []), ...(own?.orphans ?? [])].map((order) => order.identifier);
  const others = visit.services.holders.others(object.metadata.uid);
  const { account } = session;
  const found = servers.filter(
    ({ identifier, name: shown }) =>
      shown?.trim() === name &&
      !earlier.some((other) => isSameIdentifier(other, identifier)) &&
      others.withServer(identifier, { account, held: true }).length === 0,
  );
  if (found.some(({ identifier }) => others.withServer(identifier, { account }).length > 0)) return askedAbout(view);
  // Pages of a list may overlap.
  const [first, second] = new Map(found.map(({ identifier }) => [identifierKey(identifier), identifier])).values();
  // A further page may have the server. An order without an identifier is not safe to repeat with any list, and needs no proof.
  if (first === undefined)
    return goesOn && isNamed ? lacking(view, unlisted(pageOf(goesOn), session, { isNamed, isPage: true })) : undefined;
  if (second !== undefined)
    return identifierTaken(view, own, `The servers ${first} and ${second} have the name of this object's order`, first);
  reserveServer(visit, account, first);
  return { own: first, isRead: false };
}

/** The page was read, so nothing is wrong with the call. */
const pageOf = (page: PagedList): Missing => ({ ...lackIn(page), message: `Nothing was ordered: ${page.message}` });

interface Listed {
  servers: readonly AccountServer[];
  /** These are one page of the list. */
  goesOn?: PagedList;
}

/** Empty if the provider has no list: it says so, or it has never shown one to this key and has no other answer to the call. */
async function listedOf(session: Session): Promise<Listed> {
  try {
    return { servers: (await session.listedServers(LIST_AGE_MS)) ?? [] };
  } catch (error) {
    if (error instanceof PagedList) return { servers: error.servers, goesOn: error };
    if (session.listsServers() || !isNoCall(error)) throw error;
    return { servers: [] };
  }
}

/** These may pass, or are not about the list. */
const PASSING = new Set([408, 425]);

/** No document says how a provider without a list answers. A list that fails, or that the key may not read, is no such answer. */
const isNoCall = (error: unknown): boolean =>
  error instanceof ResponseError &&
  error.code === 'PROVIDER_RESPONSE' &&
  error.status < 500 &&
  !PASSING.has(error.status);

/** The identifier of the next order is another one, so nothing but the list tells of an earlier order. */
function unlisted(
  { message, ...problem }: Missing,
  session: Session,
  { isNamed, isPage = false }: { isNamed: boolean; isPage?: boolean },
): Missing {
  const what =
    'The list may have the server of an earlier order of this object, whose record was lost, so the order waits for it';
  // A read that is denied counts for an identifier that you chose, unless the key may not list servers, or the list was shown before.
  const isForbidden = problem.reason === 'PermissionDenied';
  const ways = [
    ...(isForbidden ? ['give the API key the permission to list servers'] : []),
    ...(isPage ? ['set spec.identifier to a free identifier, if the provider answers reads of those with 404'] : []),
    ...(isForbidden || isPage || session.listsServers()
      ? []
      : ['set spec.identifier, which needs no list that was never shown']),
    ...(isNamed ? ['start the operator with --orders=anonymous, which waits for no list that was never shown'] : []),
  ];
  const instead = ways.length === 0 ? '' : `. If this persists, ${ways.join(', or ')}`;
  const shown = `If the provider's control panel shows that server, set the annotation ${ADOPT_ANNOTATION} to its identifier`;
  return { ...problem, message: `${ended(message)} ${what}${instead}. ${shown}` };
}

/** Another object asks about the server at this moment, and may hold it next or not. */
const askedAbout = (at: View): Outcome => waited(at, { afterMs: RECHECK_MS });

/** Whether the identifier that you chose is free: undefined if so. */
async function lookFor(visit: Visit, session: Session, identifier: string): Promise<Outcome | Own | undefined> {
  const { account } = session;
  const others = visit.services.holders.others(visit.object.metadata.uid);
  const holders = others.withServer(identifier, { account, held: true });
  if (holders.length > 0) {
    const view = visit.view();
    return identifierTaken(
      view,
      view.own,
      `The identifier ${identifier} belongs to the server of ${namesOf(holders, view.object)}`,
    );
  }
  if (others.withServer(identifier, { account }).length > 0) return askedAbout(visit.view());
  reserveServer(visit, account, identifier);
  const answer = await readServer(identifier, undefined, session, visit.object);
  const view = visit.view();
  if (answer.type === 'server') {
    const { name, status } = answer.server;
    // Until the provider shows it no longer, it would be taken for the new one.
    if (saysCancelled(status))
      return identifierTaken(view, view.own, `The provider shows a cancelled server with the identifier ${identifier}`);
    if (namesOwner(view.object, answer.server) === 'own') return { own: identifier, isRead: true };
    const named = name === undefined ? '' : `, with the name ${cutSaid(name)}`;
    return identifierTaken(
      view,
      view.own,
      `A server with the identifier ${identifier} is there already${named}`,
      identifier,
    );
  }
  if (answer.type === 'failed') return failed(view, 'order', answer.error);
  if (answer.counts) return undefined;
  visit.suspectKey();
  if (answer.detail === LISTED)
    return identifierTaken(view, view.own, `The identifier ${identifier} is in use: ${LISTED}`, identifier);
  const message = `Nothing was ordered, because it is not known whether the identifier ${identifier} is in use: ${answer.detail}`;
  return retryLater(view, 'order', { record: view.own, verdict: { reason: 'ServerNotVisible', message } });
}
