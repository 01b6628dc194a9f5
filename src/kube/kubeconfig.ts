/** Reads and merges kubeconfig files by client-go's rules, so kubectl and this program choose the same cluster. */
import { readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

/** A missing or null field gets Go's zero value. */
function or<T extends z.ZodType>(schema: T, absent: z.input<T>) {
  return schema.nullish().transform((value) => value ?? schema.parse(absent));
}

const text = or(z.string(), '');

const CLUSTER = or(
  z.object({
    server: text,
    'certificate-authority': text,
    'certificate-authority-data': text,
    'insecure-skip-tls-verify': or(z.boolean(), false),
    'tls-server-name': text,
    'proxy-url': text,
  }),
  {},
);

const USER = or(
  z.object({
    'client-certificate': text,
    'client-certificate-data': text,
    'client-key': text,
    'client-key-data': text,
    token: text,
    tokenFile: text,
    username: text,
    password: text,
    as: text,
    'as-uid': text,
    'as-groups': or(z.array(text), []),
    'as-user-extra': or(z.record(z.string(), or(z.array(text), [])), {}),
    exec: z.looseObject({ command: text }).nullish(),
    'auth-provider': z.looseObject({}).nullish(),
  }),
  {},
);

const CONTEXT = or(z.object({ cluster: text, user: text, namespace: text }), {});

const FILE = or(
  z.object({
    apiVersion: or(z.enum(['v1', '']), ''),
    kind: or(z.enum(['Config', '']), ''),
    'current-context': text,
    clusters: or(z.array(or(z.object({ name: text, cluster: CLUSTER }), {})), []),
    users: or(z.array(or(z.object({ name: text, user: USER }), {})), []),
    contexts: or(z.array(or(z.object({ name: text, context: CONTEXT }), {})), []),
  }),
  {},
);

export type ClusterEntry = z.output<typeof CLUSTER>;
export type UserEntry = z.output<typeof USER>;
type ContextEntry = z.output<typeof CONTEXT>;

interface Kubeconfig {
  currentContext: string;
  clusters: Map<string, ClusterEntry>;
  users: Map<string, UserEntry>;
  contexts: Map<string, ContextEntry>;
}

/**
 * Skips missing files, except the one given with `--kubeconfig`. Throws an Error that names the file and the problem.
 */
export function readKubeconfig(files: readonly string[], { ofFlag }: { ofFlag: boolean }): Kubeconfig {
  const merged: Kubeconfig = { currentContext: '', clusters: new Map(), users: new Map(), contexts: new Map() };
  for (const file of files) {
    try {
      merge(merged, parse(readFileSync(file, 'utf8')), dirname(file));
    } catch (error) {
      if (!ofFlag && (error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      const what = ofFlag ? `--kubeconfig ${file}` : `the kubeconfig ${file}`;
      throw new Error(`${what} cannot be loaded: ${(error as Error).message}`, { cause: error });
    }
  }
  return merged;
}

/** Earlier files win, for the current context and for each entry; entries are never merged field by field. */
function merge(merged: Kubeconfig, file: z.output<typeof FILE>, folder: string): void {
  const absolute = (path: string): string => (path === '' ? '' : resolve(folder, path));
  merged.currentContext ||= file['current-context'];
  add(
    merged.clusters,
    file.clusters.map(({ name, cluster }) => {
      return [name, { ...cluster, 'certificate-authority': absolute(cluster['certificate-authority']) }];
    }),
  );
  add(
    merged.users,
    file.users.map(({ name, user }) => {
      const { exec } = user;
      return [
        name,
        {
          ...user,
          'client-certificate': absolute(user['client-certificate']),
          'client-key': absolute(user['client-key']),
          tokenFile: absolute(user.tokenFile),
          // A command without a separator is looked up on PATH.
          exec: exec?.command.includes(sep) ? { ...exec, command: absolute(exec.command) } : exec,
        },
      ];
    }),
  );
  add(
    merged.contexts,
    file.contexts.map(({ name, context }) => [name, context]),
  );
}

function add<T>(merged: Map<string, T>, entries: readonly [string, T][]): void {
  const repeated = entries.find(([name], index) => entries.findIndex((each) => each[0] === name) < index);
  if (repeated !== undefined) throw new Error(`two entries are named "${repeated[0]}"`);
  for (const [name, entry] of entries) if (!merged.has(name)) merged.set(name, entry);
}

/** Errors never quote the text, which contains tokens and keys. */
function parse(text: string): z.output<typeof FILE> {
  // As in client-go, the first document counts, and the last of duplicate keys wins.
  const document = parseAllDocuments(text, { uniqueKeys: false, merge: true }).at(0);
  const problem = document?.errors[0];
  if (problem !== undefined) {
    const at = problem.linePos?.[0];
    throw new Error(`invalid YAML at line ${at?.line}, column ${at?.col}`);
  }
  const parsed = FILE.safeParse(document?.toJS());
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`);
  throw new Error(problems.join(', '));
}
