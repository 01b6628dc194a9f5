/** Where a message sends its reader to learn more. Pure. */

/** The documentation of the project's main branch. */
export const DOCUMENTATION = 'https://github.com/vps-operator/vps-operator/blob/main/docs';

/** The page that explains every reason, each under its own heading. */
const REASONS_PAGE = `${DOCUMENTATION}/reference/reasons.md`;

export function reasonPage(reason: string): string {
  return `${REASONS_PAGE}#${reason.toLowerCase()}`;
}

/** The last sentence of a message. No full stop follows, because it would become part of the address. */
export function pointerTo(page: string): string {
  return `See ${page}`;
}

export function pointer(reason: string): string {
  return pointerTo(reasonPage(reason));
}

const POINTER = new RegExp(String.raw`\s*\bSee (${REASONS_PAGE.replaceAll('.', String.raw`\.`)}#[a-z]+)$`);

/** The message without its last sentence, if that is a pointer. */
export function withoutPointer(message: string): string {
  return message.replace(POINTER, '');
}

/** The page that the message points to; undefined if it points to none. */
export function pageOf(message: string): string | undefined {
  return POINTER.exec(message)?.[1];
}
