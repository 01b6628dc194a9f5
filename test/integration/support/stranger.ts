/** A user without rights. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { parse, stringify } from 'yaml';
import type { World } from './world.ts';

/** A kubeconfig of a service account without rights. */
export async function strangerIn(world: World, admin = inject('kubeconfigPath')): Promise<string> {
  const accounts = `/api/v1/namespaces/${world.namespace}/serviceaccounts`;
  await world.http.call({ method: 'POST', path: accounts, body: { metadata: { name: 'stranger' } } });
  const { status } = (await world.http.call({
    method: 'POST',
    path: `${accounts}/stranger/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })) as { status: { token: string } };
  const config = parse(await readFile(admin, 'utf8')) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = { token: status.token };
  const file = join(world.journalDir, 'stranger');
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}
