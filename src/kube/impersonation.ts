/** Headers with which a request acts as another user, as client-go sends them. */

interface Impersonation {
  user: string;
  uid: string;
  groups: readonly string[];
  extra: Readonly<Record<string, readonly string[]>>;
}

/** Throws an Error where a UID, groups or extra fields would go with the user who is logged in. */
export function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Record<string, string | string[]> {
  const fields = Object.entries(extra);
  if (user === '') {
    if (uid === '' && groups.length === 0 && fields.length === 0) return {};
    throw new Error('a UID, groups or extra fields to impersonate need a user: give --as USER');
  }
  return {
    'impersonate-user': bytes(user),
    ...(uid !== '' && { 'impersonate-uid': bytes(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': groups.map(bytes) }),
    ...Object.fromEntries(fields.map(([key, values]) => [`impersonate-extra-${headerName(key)}`, values.map(bytes)])),
  };
}

/** The API server reads UTF-8, and our HTTP client sends a character as one byte. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function headerName(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29');
}
