/** The provider's own client for power, against the simulated provider, beside the operator. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { VirtualServerSpec } from '../../src/api/virtual-server.ts';
import { DEFAULT_KEY } from '../../src/simulator/index.ts';
import { ROOT } from '../../tools/image-build.ts';
import { reportSkipped } from '../../tools/skipped.ts';
import { publicWorld, totals } from '../integration/support/public-service.ts';
import { readyServer } from '../integration/support/records.ts';
import type { World } from '../integration/support/world.ts';

const CLIENT = 'from mythic.oobclient.client import Client; Client().run()';

const folder = await mkdtemp(join(tmpdir(), 'vps-operator-oob-client-'));
afterAll(() => rm(folder, { recursive: true }));

/** Undefined: the client is installed. */
const lack = await promisify(execFile)('python3', [
  ...['-m', 'pip', 'install', '--quiet', '--target', join(folder, 'packages')],
  ...['-r', join(ROOT, 'test/python/requirements.txt')],
]).then(
  () => undefined,
  (error: unknown) => `pip (Debian: python3-pip) cannot install it: ${(error as Error).message.slice(0, 200)}`,
);
if (lack !== undefined) reportSkipped("the provider's own client", lack.replaceAll(/\s+/g, ' '));

/** What the client answers to `power IDENTIFIER WORDS`. */
async function power({ simulator }: World, identifier: string, ...words: string[]): Promise<string> {
  const config = join(folder, `${simulator.port}.conf`);
  const key = [`KeyID = ${DEFAULT_KEY.keyId}`, `Secret = ${DEFAULT_KEY.secret}`];
  const urls = [`AuthServer = ${simulator.authUrl}`, `APIBase = ${simulator.baseUrl}`];
  await writeFile(config, ['[DEFAULT]', ...key, ...urls].join('\n'));
  const args = ['-c', CLIENT, '--config', config, 'power', `vds:${identifier}`, ...words];
  const env = { ...process.env, PYTHONPATH: join(folder, 'packages') };
  return (await promisify(execFile)('python3', args, { env })).stdout.trim();
}

const sent = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);
const setPower = (world: World, wanted: VirtualServerSpec['power'] | null): Promise<unknown> =>
  world.patch('web', { spec: { power: wanted } });

describe.skipIf(lack !== undefined)("the provider's own client", () => {
  it('switches a server of the operator, which shows that, and starts the server only if spec.power is On', async (context) => {
    const world = await publicWorld(context, { flags: ['--resync-interval=1s'] });
    const { status } = await readyServer(world, 'web');
    const identifier = status?.identifier ?? '';
    expect(await power(world, identifier, 'list')).toBe('0: on [running]');

    expect(await power(world, identifier, 'off', '--no-confirm')).toBe('Server shutdown initiated');
    await world.waitForReason('web', 'ServerNotRunning', 'Ready');
    expect(await power(world, identifier, 'list')).toBe('0: off [shut down]');
    expect(await power(world, identifier, 'on', '--no-confirm')).toBe('Server powered on');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toEqual(['shutdown', 'power-on']);

    await setPower(world, 'On');
    await world.visited('web');
    expect(await power(world, identifier, 'off', '--force', '--no-confirm')).toBe('Server powered off');
    await expect.poll(() => sent(world)).toEqual(['shutdown', 'power-on', 'power-off', 'power-on']);
    await expect.poll(() => power(world, identifier, 'list')).toBe('0: on [running]');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  });

  it('shows a server that the operator has switched off, and is refused once the server is cancelled', async (context) => {
    const world = await publicWorld(context);
    const { status } = await readyServer(world, 'web');
    const identifier = status?.identifier ?? '';
    await setPower(world, 'Off');
    await world.waitForReason('web', 'PoweredOff', 'Ready');
    expect(await power(world, identifier, 'list')).toBe('0: off [shut down]');
    await world.delete('web');
    await world.waitGone('web');
    await expect(power(world, identifier, 'list')).rejects.toThrow('Server does not exist or access denied');
  });
});
