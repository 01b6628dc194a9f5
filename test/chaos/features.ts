/** Lives with features that an object need not have; those of `scenarios.ts` go by them. */
import { begin, isCreate, removed } from './acts.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

/** Every server that is ordered lies behind the SSH host of the stage. */
const behindSshHost: Unusual = async (exchange, forward, stage) => {
  const answer = await forward();
  const ssh_proxy = { hostname: '127.0.0.1', port: stage.sshHost.port };
  if (isCreate(exchange))
    for (const { identifier } of stage.simulator.aliveServers())
      stage.simulator.fleet.updateServer(identifier, { ssh_proxy });
  return answer;
};

/** The object rests, and says so because somebody answers. */
async function answered(stage: Stage): Promise<void> {
  stage.sshHost.answers = true;
  await stage.rests('web');
  const { conditions = [] } = stage.objects.object('web')?.status ?? {};
  if (!conditions.some(({ type, status }) => type === 'Reachable' && status === 'True'))
    stage.violations.push(`web is Available, and not Reachable: ${JSON.stringify(conditions)}`);
}

async function unanswered(stage: Stage): Promise<void> {
  stage.sshHost.answers = false;
  await stage.reaches('web', 'Unreachable');
}

export const FEATURES: Readonly<Record<string, Scenario>> = {
  expired: {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await stage.people.edit('web', { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
      await stage.reaches('web', 'Expired');
      // More time comes too late, and must not order another server.
      await stage.people.edit('web', { spec: { expiresAt: '2100-01-01T00:00:00Z' } });
      await stage.reaches('web', 'Expired');
      await removed(stage, 'web');
    },
  },
  reachable: {
    service: behindSshHost,
    async act(stage) {
      stage.sshHost.answers = false;
      await begin(stage);
      await stage.people.apply('web', { sshCheck: 'Proxy' });
      await unanswered(stage);
      await answered(stage);
      await unanswered(stage);
      await answered(stage);
      await removed(stage, 'web');
    },
  },
};
