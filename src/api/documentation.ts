/** Where a message sends its reader to learn more. Pure. */

/** The documentation of the project's main branch. */
export const DOCUMENTATION = 'https://github.com/vps-operator/vps-operator/blob/main/docs';

/** The page that explains every reason, each under its own heading. */
const REASONS_PAGE = `${DOCUMENTATION}/reference/reasons.md`;

export function reasonPage(reason: string): string {
  return `${REASONS_PAGE}#${reason.toLowerCase()}`;
}

/** The last sentence of a message. No full stop follows, because it would become part of the address. */
export function pointer(reason: string): string {
  return `See ${reasonPage(reason)}`;
}
