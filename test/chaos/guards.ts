/** Checks of single requests at the moment they arrive. Each violation is one sentence. */
import { CATALOG_PLURAL, SERVER_PLURAL, RECORD_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import { isOrder, type Request } from './labels.ts';
import { sshKeysOf } from './objects.ts';
import { recordOf } from '../fixtures/records.ts';
import { asksToCancel, wronglyCancelled } from '../oracles/servers.ts';
import { checkConnectionWrite } from './secret-calls.ts';
import { checkSetWrite } from './sets.ts';

interface Patch {
  metadata?: { uid?: string; resourceVersion?: string; annotations?: object; finalizers?: unknown };
  status?: unknown;
}

const STATUS_FIELDS = ['apiVersion', 'kind', 'status'];

/** Every write must name the version and uid of its object, and must not touch fields that are not the operator's. */
export function checkWrite(request: Request): string[] {
  const { method, path, body } = request;
  if (path.includes('/secrets')) return checkConnectionWrite(request);
  if (method === 'PUT' && path.includes('/leases')) {
    const { metadata } = JSON.parse(body) as Patch;
    return metadata?.resourceVersion === undefined ? [`${method} ${path} carries no resourceVersion`] : [];
  }
  const ofSet = checkSetWrite(request);
  if (ofSet !== undefined) return ofSet;
  const isOfCatalog = path.includes(`/${CATALOG_PLURAL}/`);
  if ((!path.includes(`/${SERVER_PLURAL}/`) && !isOfCatalog) || method === 'GET') return [];
  const isStatus = path.split('?')[0]?.endsWith('/status') === true;
  if (method !== (isStatus ? 'PUT' : 'PATCH') || (isOfCatalog && !isStatus))
    return [`the operator sent ${method} ${path}`];
  const patch = JSON.parse(body) as Patch;
  const violations: string[] = [];
  if (patch.metadata?.resourceVersion === undefined) violations.push(`${method} ${path} carries no resourceVersion`);
  if (patch.metadata?.uid === undefined) violations.push(`${method} ${path} carries no uid`);
  const foreign = [
    // A PUT of the status takes only the status: the names in its body are those in the path.
    ...Object.keys(patch).filter((key) => key !== 'metadata' && !(isStatus && STATUS_FIELDS.includes(key))),
    ...Object.keys(patch.metadata ?? {}).filter(
      (key) =>
        !['uid', 'resourceVersion', ...(isStatus ? ['namespace', 'name'] : ['annotations', 'finalizers'])].includes(
          key,
        ),
    ),
    ...Object.keys(patch.metadata?.annotations ?? {}).filter((key) => key !== RECORD_ANNOTATION),
  ];
  if (foreign.length > 0) violations.push(`${method} ${path} writes ${foreign.join(', ')}`);
  return violations;
}

/** `objects`: all objects in the namespace, read just now. */
export function checkProviderCall(request: Request, objects: readonly VirtualServer[], simulator: Simulator): string[] {
  if (isOrder(request)) return checkCreate(request, objects, simulator);
  const { method, path } = request;
  const identifier = /\/beta\/vps\/servers\/(.+)$/.exec(path)?.[1];
  if (method !== 'DELETE' || identifier === undefined) return [];
  return checkCancel(decodeURIComponent(identifier), objects, simulator);
}

function checkCreate({ path, body }: Request, objects: readonly VirtualServer[], simulator: Simulator): string[] {
  const { ssh_keys } = JSON.parse(body) as { ssh_keys: unknown };
  const asking = objects.filter((object) => sshKeysOf(object) === ssh_keys);
  if (asking.length === 0) return [`a create arrives for ${String(ssh_keys)}, but no object asks for it`];
  const claimed = asking.filter(
    (object) => recordOf(object)?.attempt !== undefined && object.metadata.finalizers !== undefined,
  );
  const alive = new Set(simulator.aliveServers().map((server) => server.identifier));
  const named = /\/servers\/(.+)$/.exec(path)?.[1];
  if (named !== undefined && claimed.every((object) => recordOf(object)?.identifier !== named))
    return [`an order of server ${named} arrives, but no object has claimed it`];
  // An order that is sent again creates nothing while its server exists.
  if (named !== undefined) alive.delete(named);
  // An object that has adopted a server holds that one, and claims no other.
  for (const record of asking.map(recordOf)) {
    if (record?.attempt === undefined && record?.identifier !== undefined) alive.delete(record.identifier);
  }
  const earlier = simulator.ledger
    .creates()
    .filter(({ identifier, body: { ssh_keys: keys } }) => keys === ssh_keys && alive.has(identifier))
    .map(({ identifier }) => identifier);
  if (earlier.length < claimed.length) return [];
  const records = JSON.stringify(asking.map(recordOf));
  return [`a create arrives for ${String(ssh_keys)} beside [${earlier.join(', ')}], but the records are ${records}`];
}

function checkCancel(identifier: string, objects: readonly VirtualServer[], simulator: Simulator): string[] {
  // A server that is gone cannot be cancelled by mistake.
  if (!simulator.aliveServers().some((server) => server.identifier === identifier)) return [];
  const holders = objects.filter((object) => recordOf(object)?.identifier === identifier);
  return wronglyCancelled(`server ${identifier}`, holders, (object) => asksToCancel(object, Date.now()));
}
