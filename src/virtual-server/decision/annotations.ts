/** Finds annotations of a VirtualServer with the operator's prefix that the operator does not know; most are typos. Pure. */
import { KNOWN_ANNOTATIONS } from '../../api/annotations.ts';
import { GROUP, SERVER_PLURAL } from '../../api/names.ts';
import type { ObjectMeta } from '../../api/meta.ts';
import { similarTo } from '../../base/similar.ts';

const PREFIX = `${GROUP}/`;
const KNOWN = KNOWN_ANNOTATIONS[SERVER_PLURAL] ?? [];

export function unknownAnnotations({ annotations = {} }: Pick<ObjectMeta, 'annotations'>): string[] {
  return Object.keys(annotations).filter((name) => name.startsWith(PREFIX) && !KNOWN.includes(name));
}

/** The annotation that was probably meant by an unknown one. */
export function annotationMeant(name: string): string | undefined {
  const words = KNOWN.map((known) => known.slice(PREFIX.length));
  const meant = similarTo(name.slice(PREFIX.length), words);
  return meant && PREFIX + meant;
}
