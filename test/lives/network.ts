/** The simulated network between the processes, the API server and the provider, and its current faults. */
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Weather } from './weather.ts';

export interface Network {
  scheduler: Scheduler;
  random: Random;
  /** Between operator and API server. */
  kube: Weather;
  /** Between operator and provider. */
  provider: Weather;
  /** Probability that an accepted order under an identifier is answered with an error, 0 to 1, with separate random numbers. */
  orderErrors?: { share: number; random: Random } | undefined;
  /** Probability that an SSH server does not answer, 0 to 1. */
  silentSsh: number;
  /** Whether the journals' disks are full. */
  diskFull?: boolean;
}
