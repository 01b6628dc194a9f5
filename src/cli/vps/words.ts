/** Messages of conditions without what the plugin shows elsewhere: the commands and the page to read. Pure. */
import { withoutPointer } from '../../api/documentation.ts';
import { clean } from './terminal.ts';

/** The sentences that give no command. */
export function sentences(message: string): string[] {
  return withoutPointer(message)
    .split(/(?<=\.) /)
    .filter((sentence) => !sentence.includes('`kubectl '));
}

/** The sentences on one line, without the last full stop. */
export function joined(list: readonly string[]): string {
  return clean(list.join(' ').replace(/(?<!\.)\.$/, ''));
}

export function inWords(message: string): string {
  return joined(sentences(message));
}
