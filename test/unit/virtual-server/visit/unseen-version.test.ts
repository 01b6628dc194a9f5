import { currentReason } from '../../../../src/controller/conditions.ts';
import { expect, it } from 'vitest';
import { START_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import { ConnectionSecrets } from '../../../../src/virtual-server/connection-secret/connection-secrets.ts';
import { CreateLimit, ServerQuota } from '../../../../src/virtual-server/fleet/limits.ts';
import { Credentials } from '../../../../src/accounts/accounts.ts';
import { Holders } from '../../../../src/virtual-server/fleet/holders.ts';
import { openJournal } from '../../../../src/virtual-server/journal/journal.ts';
import { Objects } from '../../../../src/virtual-server/fleet/objects.ts';
import { Visits } from '../../../../src/virtual-server/visit/visits.ts';
import { Recorder } from '../../../../src/controller/event-recorder.ts';
import { createLogger } from '../../../../src/base/logger.ts';
import { fakeKube, fakePace } from '../../../gen/doubles.ts';
import { TIMING, UID, record, web } from '../../../gen/decision.ts';
import { fakeProvider } from '../../../gen/provider.ts';
import { FakeTimers } from '../../../gen/timers.ts';

const object = web({ annotated: record({ owner: 'another-uid' }) });

/**
 * Visits a copy of another object. The first write returns it with these annotations; resolves with the reasons
 * written.
 */
async function reasonsOf(annotations: Record<string, string>): Promise<(string | undefined)[]> {
  const reasons: (string | undefined)[] = [];
  const kube = fakeKube({
    getSecret: () => Promise.resolve(undefined),
    writeStatus: (_version, _previous, status) => {
      reasons.push(currentReason(status.conditions));
      const metadata = {
        ...object.metadata,
        resourceVersion: String(reasons.length + 1),
        annotations: { ...object.metadata.annotations, ...annotations },
      };
      return Promise.resolve({ ...object, metadata, status });
    },
  });
  const timers = new FakeTimers();
  const log = createLogger({ level: 'silent' });
  const holders = new Holders(() => undefined);
  const provider = fakeProvider(() => {
    throw new Error('there is no key to call the provider with');
  });
  const onChange = (): void => undefined;
  const visits = new Visits({
    kube,
    journal: await openJournal({ dir: undefined }),
    holders,
    limit: new CreateLimit(0),
    quota: new ServerQuota(0),
    mint: () => 'a1',
    leads: () => true,
    credentials: new Credentials({ kube, provider, timers, refreshMs: 1_000, operatorNamespace: undefined, onChange }),
    timers,
    objects: new Objects({ get: () => object }, holders, new ServerQuota(0)),
    pace: fakePace({ timing: () => TIMING }),
    recorder: new Recorder(kube.events, timers, log),
    log,
    probe: () => Promise.reject(new Error('nothing asks for an SSH server here')),
    connections: new ConnectionSecrets({ secrets: undefined, kube, leads: () => true, log }),
  });
  await visits.visit(object);
  return reasons;
}

// After a restore of etcd a version repeats, so its check passes although you have changed the object.
it('visits again if the answer to its own write shows an unknown change', async () => {
  expect(await reasonsOf({ [START_OVER_ANNOTATION]: UID })).toEqual(['RecordMismatch', 'SecretNotFound']);
});

it('waits if the answer to its own write shows no unknown change', async () => {
  expect(await reasonsOf({})).toEqual(['RecordMismatch']);
});
