/**
 * The pictures of terminal sessions in docs/pictures: plays each session again, and compares its text with the text of
 * its picture. `npm run pictures` redraws the pictures.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { expect, it } from 'vitest';
import { readManifests } from '../../../tools/demo/manifests.ts';
import { draw, plain, textOf } from '../../../tools/pictures/draw.ts';
import { screenOf } from '../../../tools/pictures/screen.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { CREATE, lostOrder } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Colors without a terminal, too. */
const ALWAYS = { validateStream: false } as const;
const pluginFolder = usePlugin();

interface Scene {
  title: string;
  description: string;
  /** Longer lines are wrapped. */
  columns: number;
  /** Commands that the picture shows, and what happens before and between them. */
  steps: (string | ((world: World, plugin: Plugin) => Promise<unknown>))[];
}

const SCENES: Record<string, Scene> = {
  demo: {
    title: 'Ordering a server with kubectl',
    description:
      'A terminal. kubectl apply creates the VirtualServer web. kubectl vps wait reports that web is ready. kubectl vps ' +
      'status shows the identifier, the address, the SSH command and the price of web. kubectl get vps lists web as ' +
      'Available.',
    columns: 120,
    steps: [
      'kubectl apply -f server.yaml',
      async (world) => {
        await world.waitForReason('web', 'Creating', 'Ready');
        world.simulator.fleet.completeTask(FIRST_TASK);
      },
      'kubectl vps wait web',
      'kubectl vps status web',
      'kubectl get vps',
    ],
  },
  'lost-order': {
    title: 'An order whose answer was lost',
    description:
      'A terminal. kubectl vps status shows that web is not ready, because the outcome of the order is unknown. The ' +
      'last lines are two commands: one for the case that the server exists, one for the case that there is none.',
    columns: 100,
    steps: [
      (world) => lostOrder(world, 'web', true),
      (world) => eventOf(world, 'CreateOutcomeUnknown'),
      'kubectl vps status web',
    ],
  },
  catalog: {
    title: 'What you can order',
    description: 'A terminal. kubectl vps catalog lists products with their RAM, images, and disk sizes.',
    columns: 100,
    steps: [
      (_, plugin) => plugin.shell('kubectl wait --for=condition=Ready vpscat/catalog --timeout=1m'),
      'kubectl vps catalog',
    ],
  },
  get: {
    title: 'Servers in different states',
    description:
      'A terminal. kubectl get vps lists five servers, each with a reason: Creating, CreateOutcomeUnknown, ' +
      'DeletionProtected, CreateRejected and Available.',
    columns: 80,
    steps: [serversInDifferentStates, 'kubectl get vps'],
  },
  list: {
    title: 'All servers on one screen',
    description:
      'A terminal. kubectl vps list shows four servers with a colored dot, their state, product, price and age: web and ' +
      'lab are Ready, lab ends in 2 days and 23 hours, cache is Creating 40 %, and db is CreateOutcomeUnknown. Below are ' +
      'the sum of the prices and the message of db.',
    // Without columns after the age, whose width differs between runs.
    columns: 70,
    steps: [serversToList, 'kubectl vps list'],
  },
  status: {
    title: 'A server that is being created',
    description:
      'A terminal. kubectl vps status shows that web is Creating, a bar of its task at 40 %, the requested product, image ' +
      'and disk, and the identifier of the server.',
    columns: 100,
    steps: [
      'kubectl apply -f server.yaml',
      (world) => world.waitFor('web', ({ status }) => status?.task?.percent === 40),
      'kubectl vps status web',
    ],
  },
};

/** The number that the simulator gives to the first task. */
const FIRST_TASK = 1001;

it.skipIf(noTerminal !== undefined).each(Object.entries(SCENES))(
  'the picture %s shows the present output (else run: npm run pictures)',
  async (name, scene) => {
    const file = join(ROOT, 'docs/pictures', `${name}.svg`);
    const text = await play(scene);
    // With --update, draws every picture, because a change of the drawing changes no text.
    const { snapshotUpdateState } = expect.getState().snapshotState;
    if (snapshotUpdateState === 'all') await writeFile(file, await draw({ ...scene, text }));
    expect(textOf(await readFile(file, 'utf8')), 'run: npm run pictures').toBe(plain(text));
  },
);

/** The commands of a scene, each with what a terminal shows of its output. */
async function play({ steps, columns }: Scene): Promise<string> {
  const { files, key } = readManifests(await readFile(join(ROOT, 'docs/getting-started.md'), 'utf8'));
  // Neither the duration nor the text of a task may depend on the time at which the operator asks for it.
  const task = { taskDurationMs: Infinity, taskStatus: () => 'Installing OS, 40% complete' };
  const world = await createWorld({
    secret: false,
    simulator: { accounts: [{ name: 'reader', keys: [key] }], ...task },
  });
  const plugin = await createPlugin(pluginFolder(), world.namespace);
  for (const [file, text] of Object.entries(files)) await plugin.shell(`cat > ${file} <<'EOF'\n${text}EOF`);
  await plugin.shell('kubectl apply -f key.yaml');
  const shown: string[] = [];
  for (const step of steps) {
    if (typeof step === 'string') shown.push(await typed(step));
    else await step(world, plugin);
  }
  return shown.join('\n');

  async function typed(command: string): Promise<string> {
    const session = plugin.terminal(`stty cols ${columns}; ${command}`);
    expect(await session.ended, session.text()).toBe(0);
    const prompt = `${styleText('dim', '$', ALWAYS)} ${styleText('bold', command, ALWAYS)}`;
    return `${prompt}\n${screenOf(fixed(session.text(), world.namespace), columns)}`;
  }
}

async function serversInDifferentStates(world: World): Promise<void> {
  const { fleet, faults } = world.simulator;
  fleet.setTaskDuration(0);
  await readyServer(world, 'web');
  await readyServer(world, 'legacy', withSpec({ deletionProtection: true }));
  await world.delete('legacy');
  await world.waitForReason('legacy', 'DeletionProtected', 'Ready');
  await lostOrder(world, 'db', true);
  faults.inject({ match: CREATE, action: { kind: 'status', status: 422 } });
  await world.create(virtualServer('staging', withSpec({ product: 'VPSX32' })));
  await world.waitForReason('staging', 'CreateRejected', 'Ready');
  fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('cache', withSpec({ product: 'VPSX8' })));
  await world.waitForReason('cache', 'Creating', 'Ready');
  await world.waitFor('cache', ({ status }) => status?.identifier !== undefined);
}

async function serversToList(world: World): Promise<void> {
  const { fleet } = world.simulator;
  fleet.setTaskDuration(0);
  await readyServer(world, 'web');
  await readyServer(world, 'lab', withSpec({ product: 'VPSX8', ttl: '72h' }));
  await lostOrder(world, 'db', true);
  fleet.setTaskDuration(Infinity);
  await world.create(virtualServer('cache'));
  await world.waitFor('cache', ({ status }) => status?.task?.percent === 40);
}

/** Waits for this Event of `web`: the operator writes it after the status. */
function eventOf(world: World, reason: string): Promise<void> {
  const isThere = async (): Promise<boolean> => (await world.events('web')).some((event) => event.reason === reason);
  return world.until(isThere, `the Event ${reason}`);
}

/** Gives what differs between runs a fixed value, so that a picture changes only with the product. */
function fixed(output: string, namespace: string): string {
  return (
    output
      .replaceAll(namespace, 'default')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T12:00:00Z')
      .replaceAll(/\b[0-9a-f]{16}\b/g, 'c7236404efb4143b')
      // A narrow column cuts the order's name.
      .replaceAll(/\bOrder [0-9a-f]{8}…/g, 'Order c7236404…')
      .replaceAll(/ {2,}(?:\d+m)?\d+[smhd] ago\b/g, '    8s ago')
      // Not the code of a color, such as `[22m`.
      .replaceAll(/(?<!\[)\b(?:\d+m)?\d+[smhd]\b/g, '8s')
  );
}
