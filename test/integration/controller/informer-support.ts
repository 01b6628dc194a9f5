/** An informer under test, and a record of what it told its handler and its log. */
import { vi } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { createInformer, type InformerOptions } from '../../../src/controller/informer.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import type { Informer, InformerHandler } from '../../../src/controller/informer.ts';

export interface Seen {
  kind: 'upsert' | 'gone';
  key: string;
  object: VirtualServer;
  previous?: VirtualServer | undefined;
}

export interface Observed {
  informer: Informer<VirtualServer>;
  seen: Seen[];
  /** `level message` of each log line. */
  logged: string[];
  /** Whether the informer is synced and holds exactly these versions. */
  holds: (...objects: VirtualServer[]) => boolean;
}

/** Pauses of milliseconds, so that a test waits for conditions and not for pauses. */
const QUICK = { baseMs: 1, maxMs: 50 };

export function observe(
  http: KubeHttp,
  options: Partial<InformerOptions> & Pick<InformerOptions, 'namespaces'>,
  inner: Partial<InformerHandler<VirtualServer>> = {},
): Observed {
  const seen: Seen[] = [];
  const logged: string[] = [];
  const note = (level: string) => (_: object, message: string) => void logged.push(`${level} ${message}`);
  const informer = createInformer(VIRTUAL_SERVERS, {
    http,
    backoff: QUICK,
    log: { info: note('info'), warn: note('warn'), error: note('error') },
    ...options,
  });
  informer.subscribe({
    onUpsert(key, object, previous) {
      seen.push({ kind: 'upsert', key, object, previous });
      inner.onUpsert?.(key, object, previous);
    },
    onGone(key, object) {
      seen.push({ kind: 'gone', key, object });
      inner.onGone?.(key, object);
    },
  });
  const versions = (objects: VirtualServer[]) =>
    objects.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
  return {
    informer,
    seen,
    logged,
    holds: (...objects) => versions(informer.list()).sort().join() === versions(objects).sort().join(),
  };
}

/** Waits until the condition holds; only the test's own timeout ends the wait. */
export function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  return vi.waitFor(
    async () => {
      if (!(await condition())) throw new Error(`not yet: ${condition.toString()}`);
    },
    { timeout: 30_000, interval: 5 },
  );
}
