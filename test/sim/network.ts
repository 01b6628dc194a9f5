/** The simulated network between the processes and what is around them, and its weather. */
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
  /** How often SSH servers do not answer. */
  silentSsh: number;
  /** Whether the disks of the journals take no line at present. */
  diskFull?: boolean;
}
