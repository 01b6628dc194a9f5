/** Every observable state of a ServerCatalog, produced by its decision room, and what a GitOps tool should report for it. */
import { parseApiKey, secretForbidden } from '../../src/accounts/accounts.ts';
import { callProblem, missing, reasonOf, type Missing } from '../../src/accounts/decision/failure.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';
import { ProviderError } from '../../src/provider/error.ts';
import type { Catalog } from '../../src/provider/types.ts';
import { catalogStatus } from '../../src/server-catalog/decision/status.ts';
import { storedCatalog } from './server-catalog.ts';
import { ACCOUNT_VERDICTS, healthy, unseen, type Verdict } from './verdicts.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const LISTS: Catalog = {
  products: [{ code: 'vps-1gb', ram: 1024 }],
  images: [{ name: 'debian-13.qcow2/minimal', description: 'Debian 13' }],
  diskSizes: { ssd: [10, 20] },
};

type Reading = Parameters<typeof catalogStatus>[1];

const read = (object: ServerCatalog, reading: Reading): ServerCatalog => ({
  ...object,
  status: catalogStatus(object, reading, NOW),
});
const failed = (...[code, message]: ConstructorParameters<typeof ProviderError>): Missing => {
  const error = new ProviderError(code, message);
  return missing(reasonOf(error), callProblem(error));
};

const KEY_PROBLEMS: Record<string, Missing> = {
  SecretNotFound: parseApiKey(undefined, 'default', 'vps-api-key') as Missing,
  SecretInvalid: parseApiKey({ data: { keyId: 'id' }, resourceVersion: '1' }, 'default', 'vps-api-key') as Missing,
  SecretForbidden: secretForbidden('default', 'vps-api-key', 'secrets "vps-api-key" is forbidden'),
  InvalidCredentials: failed('PROVIDER_INVALID_CREDENTIALS', 'The provider refuses the API key'),
  Unauthorized: failed('PROVIDER_UNAUTHORIZED', 'The provider refuses a token that it has just issued'),
};
const OUTAGES: Record<string, Missing> = {
  ProviderUnavailable: failed('PROVIDER_UNREACHABLE', 'Connection refused'),
  ProviderRateLimited: failed('PROVIDER_RATE_LIMITED', 'Slow down'),
};
const PROTOCOL: Missing = failed('PROVIDER_PROTOCOL', 'The answer is not JSON');

/** As the API server stores a new object: the definition sets the default. */
const created = storedCatalog('catalog', { status: { observedGeneration: -1, conditions: [] } });
const ready = read(created, { ok: true, catalog: LISTS });

/** The name of a state is its reason; `_ready` is the same problem after a successful reading. */
export function catalogStates(): Record<string, ServerCatalog> {
  const problems = Object.entries({ ...KEY_PROBLEMS, ...OUTAGES, ProviderProtocolError: PROTOCOL });
  return {
    new: created,
    edited: { ...ready, metadata: { ...ready.metadata, generation: 2 } },
    Available: ready,
    ...Object.fromEntries(problems.map(([reason, problem]) => [reason, read(created, problem)])),
    ...Object.fromEntries(problems.map(([reason, problem]) => [`${reason}_ready`, read(ready, problem)])),
  };
}

/** Written by hand, like VERDICTS. */
export const CATALOG_VERDICTS: Record<string, Verdict> = {
  new: unseen,
  edited: unseen,
  Available: healthy,
  ...ACCOUNT_VERDICTS,
};
