/** Flux's objects of one namespace, as their users read them. */
import { expect } from 'vitest';
import type { Condition } from '../../src/api/meta.ts';
import type { Flux } from './flux-controllers.ts';

/** Flux reads the health of what it applied every 5 seconds. */
const FLUX_MS = 90_000;

interface FluxObject {
  metadata: { generation: number };
  status?: {
    conditions?: Condition[];
    artifact?: { revision: string };
    lastAppliedRevision?: string;
  };
}

/** `kubectl` works in the namespace of the objects. */
export function fluxObjects(flux: Flux, kubectl: (...args: string[]) => Promise<string>) {
  const read = async (resource: string): Promise<FluxObject> =>
    JSON.parse(await kubectl('get', resource, '--output=json')) as FluxObject;
  /** Makes Flux reconcile the object now. */
  const request = (resource: string): Promise<string> =>
    kubectl('annotate', '--overwrite', resource, `reconcile.fluxcd.io/requestedAt=${performance.now()}`);
  /** The condition Ready of a Kustomization, if it is about the present generation. */
  const ready = async (name: string): Promise<Condition | undefined> => {
    const { metadata, status } = await read(`kustomization/${name}`);
    return status?.conditions?.find(
      ({ type, observedGeneration }) => type === 'Ready' && observedGeneration === metadata.generation,
    );
  };
  /** The revision that a Kustomization has applied, with health. */
  const revisionOf = async (name: string) => (await read(`kustomization/${name}`)).status?.lastAppliedRevision;
  const until = async (state: () => Promise<unknown>, expected: unknown): Promise<void> => {
    // The logs of the controllers explain a timeout.
    await expect
      .poll(state, { timeout: FLUX_MS })
      .toEqual(expected)
      .catch((error: unknown) => {
        throw new Error(flux.tail(), { cause: error });
      });
  };
  return {
    request,
    ready,
    revisionOf,
    until,
    /** Makes Flux fetch the repository, and waits until it has this revision. */
    async fetched(revision: string): Promise<void> {
      await request('gitrepository/platform');
      await until(async () => (await read('gitrepository/platform')).status?.artifact?.revision, revision);
    },
    /** Waits until a Kustomization is Ready with this revision. */
    async applied(name: string, revision: string): Promise<void> {
      const state = async () => ({ revision: await revisionOf(name), ready: (await ready(name))?.status });
      await until(state, { revision, ready: 'True' });
    },
  };
}
