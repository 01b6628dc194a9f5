/** The history of a set, and what a return to one of its revisions changes. Pure. */
import type { Ordered, VirtualServerSet, VirtualServerSetStatus } from '../../api/virtual-server-set.ts';
import { userDataSourceOf, type UserDataSource } from '../../api/user-data.ts';
import { mergePatch } from '../cluster/merge-patch.ts';
import { fingerprint } from '../flags/public-key.ts';
import { orderedOf, revisionOf } from '../../virtual-server-set/decision/template.ts';

export type Revision = NonNullable<VirtualServerSetStatus['revisions']>[number];

/** Whether the template has this revision: the operator may not have seen its last change yet. */
export function isTemplate({ spec: { template } }: VirtualServerSet, { spec }: Revision): boolean {
  return revisionOf(template.spec) === revisionOf(spec);
}

/** The revisions that the template may return to, newest first. */
export function earlierRevisions(set: VirtualServerSet): Revision[] {
  return (set.status?.revisions ?? []).filter((revision) => !isTemplate(set, revision));
}

const sourceText = ({ kind, name, key }: UserDataSource): string =>
  kind === 'Secret' ? `${name}/${key}` : `configmap/${name}/${key}`;

/** The fields that the plugin does not show as they are. */
const SHOWN: { [F in keyof Ordered]?: (spec: Ordered) => string } = {
  sshKeys: ({ sshKeys = [] }) => sshKeys.map(fingerprint).join(', '),
  sshKeysFrom: ({ sshKeysFrom = [] }) => sshKeysFrom.map(({ name, key }) => `${name}/${key}`).join(', '),
  userDataFrom: ({ userDataFrom }) => (userDataFrom === undefined ? '' : sourceText(userDataSourceOf(userDataFrom))),
};

function shown(field: keyof Ordered, spec: Ordered): string {
  const value = spec[field] ?? '';
  return SHOWN[field]?.(spec) ?? (typeof value === 'string' ? value : JSON.stringify(value));
}

export interface SpecChange {
  /** Merge patch of the spec of the template. */
  patch: object;
  /** Field, value before, value after. */
  rows: string[][];
}

/** What has to change in the template so that an order sends what the revision says. */
export function changeTo({ spec: { template } }: VirtualServerSet, { spec: wanted }: Revision): SpecChange {
  const patch = mergePatch(orderedOf(template.spec), orderedOf(wanted));
  const changed = Object.keys(patch) as (keyof Ordered)[];
  return { patch, rows: changed.map((field) => [field, shown(field, template.spec), shown(field, wanted)]) };
}
