/** The Secrets and ConfigMaps that objects name for an order, as far as the user may read them. */
import { ONLY_METADATA } from '../../kube/kinds.ts';
import { pathOf } from '../../kube/resource.ts';
import { CommandError } from '../terminal/failure.ts';
import type { ClusterView } from './cluster.ts';

export interface NamedObject {
  kind: 'Secret' | 'ConfigMap';
  namespace: string;
  name: string;
  /** Whether to read what is in it. Without that, the API server sends no data. */
  isRead: boolean;
}

/** What is in a Secret or ConfigMap; values decoded. */
export interface Content {
  /** Of a Secret. */
  type?: string;
  data: Partial<Record<string, string>>;
}

export interface NamedObjects {
  /** `KIND NAMESPACE/NAME` of those that do not exist. */
  absent: ReadonlySet<string>;
  /** What is in those that were read, by the same key. */
  contents: ReadonlyMap<string, Content>;
  notes: string[];
}

export const keyOfNamed = ({ kind, namespace, name }: Omit<NamedObject, 'isRead'>): string =>
  `${kind} ${namespace}/${name}`;

const PLURALS = { Secret: 'secrets', ConfigMap: 'configmaps' } as const;
const NOTES = {
  Secret:
    'not checked whether the Secrets exist, and whether SSH keys and user data in them are valid: you may not read them',
  ConfigMap: 'not checked whether the ConfigMaps exist, and whether user data in them is valid: you may not read them',
} as const;

/** `provided`: keys of those that the user is about to create. */
export async function lookAtNamed(
  cluster: ClusterView,
  named: readonly NamedObject[],
  provided: ReadonlySet<string>,
): Promise<NamedObjects> {
  const absent = new Set<string>();
  const contents = new Map<string, Content>();
  const notes = new Set<string>();
  const wanted = Map.groupBy(named, keyOfNamed);
  for (const [key, [first, ...others]] of wanted) {
    if (first === undefined || provided.has(key)) continue;
    const { kind, namespace, name } = first;
    const isRead = [first, ...others].some((one) => one.isRead);
    const path = pathOf({ apiVersion: 'v1', plural: PLURALS[kind] }, namespace, name);
    try {
      const found = await cluster.ask({ path, ...(isRead ? {} : { accept: ONLY_METADATA }), absent: name });
      if (found === undefined) absent.add(key);
      else if (isRead) contents.set(key, contentOf(kind, found as Partial<Content>));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      notes.add(NOTES[kind]);
    }
  }
  return { absent, contents, notes: [...notes] };
}

function contentOf(kind: NamedObject['kind'], { type = '', data = {} }: Partial<Content>): Content {
  if (kind === 'ConfigMap') return { data };
  const decoded = Object.entries(data).map(([key, text = '']) => [key, Buffer.from(text, 'base64').toString('utf8')]);
  return { type, data: Object.fromEntries(decoded) as Content['data'] };
}
