/** What visits to VirtualServers report for metrics. */

/** Every method returns at once and never throws. */
export interface ServerInstruments {
  /** An ordered server was read for the first time, this long after its order was recorded (ms). */
  provisioned(durationMs: number): void;
  /** A finalizer was removed by force while a server may have existed. */
  serverLost(): void;
}
