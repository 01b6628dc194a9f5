/** Manifests of VirtualServers that adopt servers of an account, for you to review. Pure. */
import { ADOPT_ANNOTATION, API_VERSION, SERVER_KIND } from '../../api/names.ts';
import { specSchema } from '../../api/virtual-server.ts';
import { printable } from '../../base/text.ts';
import type { UnheldServer } from '../state/orphans.ts';
import { data } from '../terminal/table.ts';

/** A DNS label. */
const MAX_NAME = 63;

/** YAML documents. `taken`: names of objects in the namespace, which a manifest must not change. */
export function manifestsOf(servers: readonly UnheldServer[], taken: Iterable<string>): string {
  const used = new Set(taken);
  return servers
    .map((server) => {
      const name = freeName(nameFor(server), used);
      used.add(name);
      return manifestOf(server, name);
    })
    .join('---\n');
}

/** From the name at the provider, without what the operator adds to it; else the identifier. */
function nameFor({ name, identifier }: UnheldServer): string {
  const [, own] = /^[^/]+\/(.+) \([0-9a-f]{8}\)$/.exec(name ?? '') ?? [];
  return [own, name, identifier].map((text) => labelOf(text ?? '')).find((label) => label !== '') ?? 'server';
}

const labelOf = (text: string): string =>
  trimmed(text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
    .slice(0, MAX_NAME)
    .replace(/-+$/, '');

const trimmed = (text: string): string => text.replaceAll(/^-+|-+$/g, '');

function freeName(base: string, used: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? '' : `-${number}`;
    const name = base.slice(0, MAX_NAME - end.length).replace(/-+$/, '') + end;
    if (!used.has(name)) return name;
  }
}

/** The API server refuses a required field without a value, so a manifest has no effect until you have filled it in. */
function manifestOf(server: UnheldServer, name: string): string {
  const { identifier, product, unheldSince, catalog } = server;
  const isUsable = specSchema.shape.product.safeParse(product).success;
  const manifest = {
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: { name, namespace: catalog.namespace, annotations: { [ADOPT_ANNOTATION]: identifier } },
    spec: { apiKeySecretRef: { name: catalog.secret }, ...(isUsable && { product }) },
  };
  const since = unheldSince === undefined ? '' : `; at each read of the list since ${unheldSince}, no object held it`;
  return [
    `# Server ${identifier}, ${server.name === undefined ? 'without a name' : `named ${commented(server.name)}`} at the provider${since}.\n`,
    data(manifest, 'yaml'),
    '  # Deleting this object leaves the server running. Remove the line once you are sure that it is yours to cancel.\n',
    '  deletionPolicy: Retain\n',
    '  # FILL IN the fields below, which the list of servers does not tell. The operator compares diskSize with the server, and\n',
    '  # uses image and sshKeys only for an order. Without changePolicy and power, it does not change an adopted server.\n',
    ...(isUsable ? [] : ['  product:\n']),
    '  image:\n',
    '  diskSize:\n',
    '  sshKeys:\n',
  ].join('');
}

/** Text of others must not end the comment. */
const commented = (text: string): string => JSON.stringify(printable(text));
