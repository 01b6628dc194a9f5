/** What a VirtualServer leaves behind in a process when it goes. */
import { expect, it } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { Holders } from '../../../src/virtual-server/shared/holders.ts';
import { ServerQuota } from '../../../src/virtual-server/shared/limits.ts';
import { Objects } from '../../../src/virtual-server/shared/objects.ts';
import { ACCOUNT, KNOWN, webWith } from '../../fixtures/decision.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('cleans up after an object that goes while the controller reads it after a conflict', async () => {
  const timers = new FakeTimers();
  const object = webWith(KNOWN);
  const feed = feedOf<VirtualServer>(object);
  const objects = new Objects(feed.informer, new Holders(() => ACCOUNT), new ServerQuota(0));
  const taken: unknown[] = [];
  const read = Promise.withResolvers<VirtualServer | undefined>();
  const controller = new Controller<VirtualServer>({
    name: 'virtualserver',
    informer: feed.informer,
    objects,
    reconciler: {
      reconcile: async (visited, known) => {
        try {
          if (known === undefined) return {};
          // Its own write that the watch has not reported; then a user removes the finalizer, and the next write conflicts.
          objects.saw({ ...known, metadata: { ...known.metadata, resourceVersion: '100' } });
          objects.remember(known.metadata.uid, { ...objects.memo(known.metadata.uid), failures: 7 });
          throw new KubeError('Conflict', 'newer', { status: 409 });
        } finally {
          await Promise.resolve();
          taken.push(...objects.takeGone(visited));
        }
      },
    },
    workers: 1,
    read: () => read.promise,
    timers,
    log: createLogger({ level: 'silent' }),
  });
  await controller.start();
  await settled();
  // The watch reports the end of the object while the controller reads it.
  const last = { ...object, metadata: { ...object.metadata, resourceVersion: '101', finalizers: [] } };
  feed.remove(last);
  await settled();
  read.resolve(undefined);
  await settled();
  for (let n = 0; n < 10; n++) {
    timers.advance(60_000);
    await settled();
  }
  expect(taken).toHaveLength(1);
  expect(objects.memo(object.metadata.uid).failures).toBe(0);
});
