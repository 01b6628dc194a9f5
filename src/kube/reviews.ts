/** Asks the API server who a token belongs to, and whether that user may do something. */
import type { KubeHttp } from './http.ts';

/** As authentication.k8s.io names it. */
interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Calls throw KubeError. */
export interface Reviews {
  /** Undefined if the API server does not accept the token. */
  userOf(token: string): Promise<UserInfo | undefined>;
  /** True if RBAC, or another authorizer of the cluster, allows a GET of this path (not an object). */
  mayGet(user: UserInfo, path: string): Promise<boolean>;
}

export function createReviews(http: KubeHttp): Reviews {
  return {
    async userOf(token) {
      const { authenticated, user } = await review<{ authenticated?: boolean; user?: UserInfo }>(
        http,
        'authentication.k8s.io/v1',
        'TokenReview',
        { token },
      );
      return authenticated === true ? user : undefined;
    },

    async mayGet({ username, uid, groups, extra }, path) {
      const nonResourceAttributes = { path, verb: 'get' };
      const { allowed } = await review<{ allowed?: boolean }>(http, 'authorization.k8s.io/v1', 'SubjectAccessReview', {
        user: username,
        uid,
        groups,
        extra,
        nonResourceAttributes,
      });
      return allowed === true;
    },
  };
}

/** The API server answers a review when it is created, and stores nothing. */
async function review<Status>(
  http: KubeHttp,
  apiVersion: string,
  kind: string,
  spec: object,
): Promise<Partial<Status>> {
  const answer = await http.call({
    method: 'POST',
    path: `/apis/${apiVersion}/${kind.toLowerCase()}s`,
    body: { apiVersion, kind, spec },
  });
  return (answer as { status?: Status }).status ?? {};
}
