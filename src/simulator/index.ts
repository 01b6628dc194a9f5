/**
 * Simulates the whole provider API, for the demo and the tests: as its documentation describes it, or with `api: 'public'`
 * as public sources tell of the same API.
 *
 * Where the documentation is silent, an option decides, or the simulator does what is least convenient for a client:
 * bodies of provisioning errors, reads and deletes during a task, other statuses of a server, failures of a task.
 *
 * It does not model: machines that run or accept SSH, the calls for stored user data, ISO images and consoles, quotas and
 * payment, webhooks and maintenance of the provider.
 *
 * By default it keeps promises that the documentation does not make: every answer is true, reads do not lag, task
 * numbers and identifiers are unique, and a key stays with its account. `WorldOptions`, the methods of `accounts`,
 * `fleet` and `provider`, and `POST /world` of the control panel (world.ts) break these promises.
 */
export { RESTRICTIONS } from './accounts.ts';
export type { Restriction } from './accounts.ts';
export type { FaultAction, FaultHandle, FaultInput, FaultMatch } from './faults.ts';
export { createHandler } from './handler.ts';
export type * from './ledger.ts';
export { CANCEL_BODIES } from './lies.ts';
export { NAMED_FAULTS, namedFault } from './named-faults.ts';
export type { FaultName } from './named-faults.ts';
export type { ServerObject } from './server-object.ts';
export type { AliveServer, ServerLife } from './servers.ts';
export { startSimulator } from './server.ts';
export type { Simulator, SimulatorOptions } from './server.ts';
export { DEFAULT_KEY } from './settings.ts';
export type * from './settings.ts';
export { Simulation } from './simulation.ts';
export { API_NAMES, CHOICES } from './variants.ts';
export type * from './variants.ts';
export type { Route } from './wire.ts';
