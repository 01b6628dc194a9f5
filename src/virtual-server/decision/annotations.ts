/** Finds annotations with the operator's prefix that the operator does not know; most are typos. Pure. */
import * as names from '../../api/names.ts';
import type { ObjectMeta } from '../../api/meta.ts';
import { similarTo } from '../../base/similar.ts';

const PREFIX = `${names.GROUP}/`;

/** Every annotation of a VirtualServer in names.ts; the owner annotation belongs to connection Secrets instead. */
const KNOWN: readonly string[] = Object.entries(names)
  .filter(([constant]) => constant.endsWith('_ANNOTATION') && constant !== 'OWNER_ANNOTATION')
  .map(([, name]) => name);

/** One sentence for each unknown annotation, with the annotation that was probably meant. */
export function unknownAnnotations({ annotations = {} }: Pick<ObjectMeta, 'annotations'>): string[] {
  return Object.keys(annotations)
    .filter((name) => name.startsWith(PREFIX) && !KNOWN.includes(name))
    .map((name) => {
      const words = KNOWN.map((known) => known.slice(PREFIX.length));
      const meant = similarTo(name.slice(PREFIX.length), words);
      const advice = meant === undefined ? 'the operator ignores it' : `did you mean ${PREFIX}${meant}?`;
      return `Unknown annotation ${name}; ${advice}`;
    });
}
