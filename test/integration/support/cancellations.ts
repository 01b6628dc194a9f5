/** Cancellations that the provider does not answer yet. */
import type { World } from './world.ts';

/** `begun` resolves when the first request has arrived; none is acted on before `release`. */
export function holdCancellations({ simulator }: World): { begun: Promise<void>; release: () => void } {
  const match = { method: 'DELETE', route: '/beta/vps/servers/{identifier}' } as const;
  const hold = simulator.faults.inject({ match, times: Infinity, action: { kind: 'hang' } });
  return { begun: hold.met, release: () => hold.release() };
}
