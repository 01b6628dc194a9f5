/** Decides who may read a page by the token in a request, and remembers the decision for a short time. */
import { createHash } from 'node:crypto';
import type { Client } from '../kube/client.ts';
import type { AccessReview, TokenReview } from '../kube/kinds.ts';

/** Names the status of the response. */
export type Access = 'allowed' | 'unauthorized' | 'forbidden' | 'busy';

/** A revoked right or token still counts this long. */
const ALLOWED_MS = 60_000;
/** Shorter, so that a new right takes effect soon. */
const REFUSED_MS = 10_000;
/** Bounds the memory and the requests to the API server that a peer with endless tokens can cause. */
const MAX_REMEMBERED = 256;
const MAX_REVIEWS = 8;

/** The API server says who a token belongs to, and what that user may do. */
export interface Reviews {
  tokens: Pick<Client<TokenReview>, 'create'>;
  rights: Pick<Client<AccessReview>, 'create'>;
}

interface Decision {
  access: Promise<Access>;
  /** Infinity while the review runs. */
  expires: number;
  isAllowed: boolean;
}

/** The function gets the header `authorization`, and throws KubeError if the API server cannot decide. */
export function createAccess(
  { tokens, rights }: Reviews,
  path: string,
  now: () => number,
): (authorization: string | undefined) => Promise<Access> {
  /** By the hash of the token, oldest first: no token stays in memory. */
  const decisions = new Map<string, Decision>();
  let running = 0;

  async function review(token: string): Promise<Access> {
    const { authenticated, user } = (await tokens.create({ spec: { token } })).status ?? {};
    if (authenticated !== true || user === undefined) return 'unauthorized';
    const { username, uid, groups, extra } = user;
    const nonResourceAttributes = { path, verb: 'get' };
    const { status } = await rights.create({ spec: { user: username, uid, groups, extra, nonResourceAttributes } });
    return status?.allowed === true ? 'allowed' : 'forbidden';
  }

  /** The oldest refusal goes first: a peer with endless tokens must not displace the tokens that are allowed. */
  function leastUseful(): string {
    for (const [key, { isAllowed, expires }] of decisions) if (!isAllowed && expires !== Infinity) return key;
    const [oldest = ''] = decisions.keys();
    return oldest;
  }

  function decide(key: string, token: string): Promise<Access> {
    running += 1;
    const decision: Decision = { access: review(token), expires: Infinity, isAllowed: false };
    decisions.delete(key);
    decisions.set(key, decision);
    if (decisions.size > MAX_REMEMBERED) decisions.delete(leastUseful());
    void decision.access
      .then(
        (access) => {
          decision.isAllowed = access === 'allowed';
          decision.expires = now() + (decision.isAllowed ? ALLOWED_MS : REFUSED_MS);
        },
        () => {
          if (decisions.get(key) === decision) decisions.delete(key);
        },
      )
      .finally(() => {
        running -= 1;
      });
    return decision.access;
  }

  return async (authorization = '') => {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return 'unauthorized';
    const key = createHash('sha256').update(token).digest('base64');
    const known = decisions.get(key);
    if (known !== undefined && known.expires > now()) return known.access;
    return running >= MAX_REVIEWS ? 'busy' : decide(key, token);
  };
}
