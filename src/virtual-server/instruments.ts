/** What the visits to VirtualServers tell of themselves; metrics are made of it. */

/** Every method returns at once and never throws. */
export interface ServerInstruments {
  /** A server that was ordered was read for the first time, so long after its order was written down (ms). */
  provisioned(durationMs: number): void;
  /** A finalizer was taken off by force while there may have been a server. */
  serverLost(): void;
}
