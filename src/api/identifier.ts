/** What a person may give as the identifier of a server. Pure. */
import { MAX_IDENTIFIER } from './record.ts';

/** Words that documents and commands show in the place of an identifier. */
const PLACEHOLDERS = ['IDENTIFIER', 'ID'];

/** Why the text is no identifier of a server; undefined where it may be one. */
export function identifierProblem(text: string): string | undefined {
  if (text.length > MAX_IDENTIFIER || !/^[\x21-\x7e]+$/.test(text)) {
    return `an identifier has 1 to ${MAX_IDENTIFIER} visible ASCII characters and no blanks`;
  }
  if (!PLACEHOLDERS.includes(text) && !/[<>]/.test(text)) return undefined;
  return `${text} is a placeholder: give the identifier that the provider shows`;
}
