/** What must be true of the host key in the status of an object, and of the connection Secret, in scenarios with an SSH host. */
import type { Condition } from '../../src/api/meta.ts';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../src/api/names.ts';
import { expectedData } from '../oracles/connection-data.ts';
import { CONNECTION } from './secret-calls.ts';
import type { HostKeyPair } from './ssh-host.ts';
import type { Stage } from './stage.ts';

const NAME = 'web';
export const SECRET = `${NAME}${CONNECTION}`;

const trusted = (stage: Stage): readonly string[] =>
  (stage.objects.object(NAME)?.status?.sshHostKeys ?? []).map(({ key }) => key);

const alarm = (stage: Stage): Condition | undefined =>
  stage.objects.object(NAME)?.status?.conditions?.find(({ type }) => type === 'HostKeyChanged');

/** The object trusts the key that the host has shown all the time. */
export function checkTrusted(stage: Stage, { key }: HostKeyPair): void {
  if (trusted(stage).join() !== key) stage.violations.push(`web trusts [${trusted(stage).join()}] instead of ${key}`);
}

/** Waits until the Secret has the known_hosts lines of the trusted key, and no others. */
async function secretFollows(stage: Stage): Promise<void> {
  await stage.until('the Secret to hold the trusted key', async () => {
    const { identifier = '', sshHostKeys } = stage.objects.object(NAME)?.status ?? {};
    const server = stage.simulator.fleet.find('default', identifier)?.object;
    const { known_hosts: expected } = expectedData(identifier, server, sshHostKeys);
    const secret = await stage.people.secret(SECRET);
    return expected !== undefined && secret?.data['known_hosts'] === expected;
  });
}

/** Waits until the condition names this key. */
async function alarms(stage: Stage, { fingerprint }: HostKeyPair): Promise<void> {
  await stage.until(`the condition to name ${fingerprint}`, () => alarm(stage)?.subject === fingerprint);
}

/**
 * The first key in a status stays, whatever the host shows later and whichever process checks, until a user names
 * another one. `first`, `second`: what the host shows to the first check and to all later ones.
 */
export async function keepsFirstKey(stage: Stage, first: HostKeyPair, second: HostKeyPair): Promise<void> {
  await secretFollows(stage);
  const [kept = ''] = trusted(stage);
  // If the first check left no trace in a status, the second one counts as the first.
  if (kept === first.key) await alarms(stage, second);
  else checkTrusted(stage, second);
  const third = stage.sshHost.replaceKey();
  await alarms(stage, third);
  await stage.people.edit(NAME, { annotations: { [ACCEPT_HOST_KEY_ANNOTATION]: third.fingerprint } });
  await stage.until('the named key to be trusted', () => trusted(stage).join() === third.key);
  await stage.until('the condition to end', () => alarm(stage) === undefined);
  await secretFollows(stage);
  const { uid = '' } = stage.objects.object(NAME)?.metadata ?? {};
  const history = stage.objects.hostKeys.get(uid) ?? [];
  if (history.join() !== [kept, third.key].join())
    stage.violations.push(`the status of web had these host keys in turn: [${history.join()}]`);
}
