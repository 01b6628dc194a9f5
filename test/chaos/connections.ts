/**
 * Scenarios with a connection Secret. No garbage collector runs here: a Secret bound to its object counts as deleted
 * with it.
 */
import type { Secret } from '../../src/kube/kinds.ts';
import { expectedData } from '../oracles/connection-data.ts';
import type { Gap } from './gaps.ts';
import type { Scenario } from './scenarios.ts';
import { CONNECTION } from './secret-calls.ts';
import type { Stage } from './stage.ts';

const NAME = 'web';
const SECRET = `${NAME}${CONNECTION}`;
const PASSWORD = 'vnc-password';
const FLAGS = ['--connection-secrets'];

/** The Secret's content must not appear in any log. */
function watchPassword(stage: Stage): void {
  stage.people.secrets.push(PASSWORD, Buffer.from(PASSWORD).toString('base64'));
}

async function ready(stage: Stage): Promise<void> {
  watchPassword(stage);
  await stage.people.putSecret();
  await stage.start();
  await stage.people.apply(NAME, { connectionSecretName: SECRET });
  await stage.rests(NAME);
  await says(stage, "the provider's data", true, servers(stage));
}

/** Identifier of the only server. */
function servers(stage: Stage): string {
  return stage.simulator.ledger.creates()[0]?.identifier ?? '';
}

const shownData = ({ simulator }: Stage, identifier: string) =>
  expectedData(identifier, simulator.fleet.find('default', identifier)?.object);

/** Waits until the Secret holds the server's data (or none), and is bound to its object or not. */
async function says(stage: Stage, what: string, isBound: boolean, identifier?: string): Promise<void> {
  const expected = identifier === undefined ? {} : shownData(stage, identifier);
  await stage.until(`the Secret to hold ${what}`, async () => {
    const secret = await stage.people.secret(SECRET);
    return secret !== undefined && same(secret.data, expected) && bound(secret) === isBound;
  });
}

/** For an object that is deleted with `Retain`: if its Secret was created, the Secret stays. */
export const RETAINED_CONNECTION: Pick<Gap, 'flags' | 'spec' | 'end'> = {
  flags: FLAGS,
  spec: { connectionSecretName: SECRET },
  async end(stage) {
    watchPassword(stage);
    await stage.gone(NAME);
    const secret = await stage.people.secret(SECRET);
    if (secret !== undefined && bound(secret))
      stage.violations.push('the retained Secret is still bound to its object');
  },
};

const bound = ({ metadata }: Secret): boolean => (metadata.ownerReferences ?? []).length > 0;

function same(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
}

/** Removes the object and returns the Secret in its final state: no call in flight changes it later. */
async function gone(stage: Stage): Promise<Secret | undefined> {
  await stage.people.remove(NAME);
  await stage.gone(NAME);
  await stage.until('the fault to be over', () => !stage.traffic.isStruck);
  return stage.people.secret(SECRET);
}

export const CONNECTIONS: Readonly<Record<string, Scenario>> = {
  connection: {
    flags: FLAGS,
    async act(stage) {
      await ready(stage);
      const identifier = servers(stage);
      const vnc = { mode: 'enabled', password: `${PASSWORD}-new`, display: 9, port: 5909, ipv4: '', ipv6: '' };
      stage.simulator.fleet.updateServer(identifier, { vnc });
      await says(stage, 'the new password', true, identifier);
      await stage.people.edit(NAME, { spec: { deletionPolicy: 'Retain' } });
      stage.retained.add(identifier);
      const expected = shownData(stage, identifier);
      const secret = await gone(stage);
      if (secret === undefined || bound(secret) || !same(secret.data, expected))
        stage.violations.push(`the retained Secret is ${secret === undefined ? 'gone' : 'changed, or still bound'}`);
    },
  },
  'connection-expired': {
    flags: FLAGS,
    async act(stage) {
      await ready(stage);
      await stage.people.edit(NAME, { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
      await stage.reaches(NAME, 'Expired');
      await says(stage, 'nothing', true);
      const secret = await gone(stage);
      if (secret === undefined || !bound(secret) || !same(secret.data, {}))
        stage.violations.push(
          `the Secret of the expired server is ${secret === undefined ? 'gone' : 'not empty, or not bound'}`,
        );
    },
  },
};
