/** Impersonation headers, in the form that client-go sends. */

interface Impersonation {
  user: string;
  uid: string;
  groups: readonly string[];
  extra: Readonly<Record<string, readonly string[]>>;
}

/** Throws an Error for a UID, groups or extra fields without a user to impersonate. */
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

/** The API server expects UTF-8, and the HTTP client sends each character as one byte. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function headerName(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29');
}
