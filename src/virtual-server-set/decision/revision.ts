/** What a revision of a template is: the fields that an order sends. Pure. */
import {
  MAX_REVISIONS,
  REVISIONS_LENGTH,
  type Ordered,
  type VirtualServerSet,
  type VirtualServerSetStatus,
} from '../../api/virtual-server-set.ts';

/** Equal for specs that order the same; the API server may return fields in a different order. */
export function revisionOf({ product, image, diskSize, sshKeys = [], sshKeysFrom = [] }: Ordered): string {
  return JSON.stringify([product, image, diskSize, sshKeys, sshKeysFrom.map(({ name, key }) => [name, key])]);
}

/** A short name of a revision, only for display: FNV-1a with 32 bits, as in the label pod-template-hash. */
export function shortName(revision: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < revision.length; index++) {
    hash = Math.imul(hash ^ revision.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, '0');
}

type Revisions = NonNullable<VirtualServerSetStatus['revisions']>;

/** The revisions of the status; the template's revision comes first. */
export function withTemplate({ spec: { template }, status }: VirtualServerSet): Revisions {
  const text = revisionOf(template.spec);
  const { product, image, diskSize, sshKeys, sshKeysFrom } = template.spec;
  const spec: Ordered = { product, image, diskSize, ...(sshKeys && { sshKeys }), ...(sshKeysFrom && { sshKeysFrom }) };
  const others = (status?.revisions ?? []).filter((other) => revisionOf(other.spec) !== text);
  const kept: Revisions = [];
  let length = 0;
  for (const revision of [{ revision: shortName(text), spec }, ...others].slice(0, MAX_REVISIONS)) {
    length += JSON.stringify(revision).length;
    if (length > REVISIONS_LENGTH) break;
    kept.push(revision);
  }
  return kept;
}
