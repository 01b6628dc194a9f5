/** Validates server identifiers that a user enters. Pure. */
import { MAX_IDENTIFIER } from './record.ts';

/** Placeholders for an identifier in the docs and in commands. */
const PLACEHOLDERS = ['IDENTIFIER', 'ID'];

/** Why the text is not a server identifier; undefined if it may be one. */
export function identifierProblem(text: string): string | undefined {
  if (text.length > MAX_IDENTIFIER || !/^[\x21-\x7e]+$/.test(text)) {
    return `an identifier has 1 to ${MAX_IDENTIFIER} visible ASCII characters and no blanks`;
  }
  if (!PLACEHOLDERS.includes(text) && !/[<>]/.test(text)) return undefined;
  return `${text} is a placeholder: give the identifier that the provider shows`;
}
