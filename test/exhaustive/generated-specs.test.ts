/**
 * Specs generated from the CRD schema (after Acto). Invalid specs are rejected with the name of the field, valid ones
 * never cause an error, the path of edits to a spec does not matter, and every bad spec can be fixed.
 * GENERATED_SPECS_SEED chooses other walks than the usual ones, GENERATED_SPECS sets their number.
 */
import { describe, expect, it } from 'vitest';
import { API_VERSION, SERVER_KIND, SERVER_PLURAL } from '../../src/api/names.ts';
import { ORDERED_FIELDS } from '../../src/api/ordered-fields.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import {
  goodSpec,
  invalidSpecs,
  isOffered,
  mergePatch,
  UNDOCUMENTED,
  validSpecs,
  type Spec,
} from '../fixtures/specs.ts';
import { Random } from '../lives/random.ts';
import { condition, createWorld, type World } from '../integration/support/world.ts';
import { permitConfigMaps } from '../../tools/control-plane/operator-identity.ts';

const WALKS = Number(process.env.GENERATED_SPECS ?? 24);
const SEED = Number(process.env.GENERATED_SPECS_SEED ?? 1_795_329_132);
const AT_ONCE = 12;
/** Transient reasons. */
const PASSING = ['Pending', 'Creating', 'Stopping'];

/** The documented API cannot switch servers off. */
const isToBeOff = ({ power }: Spec): boolean => power === 'Off' || power === 'Dormant';

const manifest = (name: string, spec: Spec) => ({
  apiVersion: API_VERSION,
  kind: SERVER_KIND,
  metadata: { name },
  spec,
});
/** Specs that name a ConfigMap need the right to read it. */
async function newWorld(): Promise<World> {
  const world = await createWorld({ simulator: { taskDurationMs: 100 }, flags: ['--max-creates-per-hour=0'] });
  await permitConfigMaps(world.http, world.namespace);
  return world;
}

/** Runs several at a time, started in the order of the list. */
async function forAll<T>(list: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const left = [...list.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** The API server's error message; undefined if it accepted the spec. */
async function refusal(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && (error.status === 422 || error.status === 400)) return error.message;
    throw error;
  }
}

/** The rules of SSH keys are rules of their list, and name the key in their message. */
const namedAs = (path: string): string => path.replace(/^spec\.(?=sshKeys\[)/, '');

/** Waits until the operator's Ready condition for the present spec has a final reason. */
function settled(world: World, name: string): Promise<VirtualServer> {
  const isSettled = (object: VirtualServer): boolean => {
    const ready = condition(object, 'Ready');
    return ready?.observedGeneration === object.metadata.generation && !PASSING.includes(ready.reason);
  };
  return world.waitFor(name, isSettled, 'a reason that stays');
}

async function moveTo(world: World, name: string, spec: Spec): Promise<VirtualServer> {
  const present = (await world.get(name))?.spec;
  await world.patch(name, { spec: mergePatch(present, spec) });
  return settled(world, name);
}

/** Makes the object Ready from any state, then deletes it. Fields that were already sent with an order stay. */
async function fixAndDelete(world: World, name: string): Promise<void> {
  const fixed = await moveTo(world, name, { ...(await orderedPart(world, name)), deletionPolicy: 'Delete' });
  expect(condition(fixed, 'Ready'), JSON.stringify(fixed)).toMatchObject({ status: 'True', reason: 'Available' });
  await world.delete(name);
  await world.waitGone(name);
}

async function orderedPart(world: World, name: string): Promise<Spec> {
  const { spec, status } = (await world.get(name)) ?? {};
  return spec === undefined || status?.record?.attempt === undefined ? goodSpec() : orderedOf(spec);
}

/** An undefined value takes the field of another spec away. */
const orderedOf = (spec: Spec): Spec => Object.fromEntries(ORDERED_FIELDS.map((field) => [field, spec[field]]));

function expectOneLifeEach(world: World, count: number): void {
  const identifiers = world.simulator.ledger.creates().map(({ identifier }) => identifier);
  expect(identifiers).toHaveLength(count);
  expect(new Set(world.simulator.ledger.cancels().map(({ identifier }) => identifier))).toEqual(new Set(identifiers));
  expect(world.simulator.ledger.cancels()).toHaveLength(count);
  expect(world.simulator.aliveServers()).toEqual([]);
  expectNoErrors(world);
}

function expectNoErrors(world: World): void {
  expect(world.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
}

/** Everything in the status except times, generations, the object's name, and values that are unique to the server. */
function said({ metadata, status = {} }: VirtualServer): unknown {
  const { conditions = [], identifier, product, specs, price, zone, serverStatus } = status;
  const fields = Object.keys(status).sort();
  const words = conditions.map(({ type, status: value, reason, message }) => ({
    type,
    value,
    reason,
    message: message.replaceAll(identifier ?? metadata.name, '<identifier>').replaceAll(metadata.name, '<name>'),
  }));
  return { fields, words, product, specs, price, zone, serverStatus, record: Object.keys(status.record ?? {}).sort() };
}

describe('a spec generated from the schema', () => {
  it('is rejected in a create and in a patch, with the name of the field, if it breaks a rule', async () => {
    const world = await newWorld();
    const invalid = invalidSpecs();
    const victim = await world.create(manifest('victim', { ...goodSpec(), product: 'none' }));
    await world.waitForReason('victim', 'InvalidSpec', 'Stalled');
    const wrong: string[] = [];
    await forAll(invalid, async ({ path, what, spec }, index) => {
      const check = (verb: string, words: string | undefined): void => {
        if (words?.includes(namedAs(path)) !== true) wrong.push(`${verb} ${path} ${what}: ${words ?? 'taken'}`);
      };
      check('create', await refusal(world.create(manifest(`invalid-${index}`, spec))));
      // A null in a patch removes the field; the list of invalid specs has that case separately.
      if (what === 'null') return;
      check('patch', await refusal(world.patch('victim', { spec: mergePatch(victim.spec, spec) as object })));
    });
    console.log(`${invalid.length} invalid specs`);
    expect(wrong).toEqual([]);
    expect((await world.get('victim'))?.metadata.generation).toBe(1);
    await fixAndDelete(world, 'victim');
    expectOneLifeEach(world, 1);
  });

  it('is rejected for an unknown field under strict field validation, and loses the field otherwise', async () => {
    const world = await newWorld();
    const path = `/apis/${API_VERSION}/namespaces/${world.namespace}/${SERVER_PLURAL}`;
    const spec = { ...goodSpec(), surprise: 7, apiKeySecretRef: { name: 'vps-api-key', namespace: 'other' } };
    const call = { method: 'POST', path, query: { fieldValidation: 'Strict' } } as const;
    const words = await refusal(world.http.call({ ...call, body: manifest('web', spec) }));
    expect(words).toContain('unknown field "spec.surprise"');
    expect(words).toContain('unknown field "spec.apiKeySecretRef.namespace"');
    const taken = await world.create(manifest('web', spec));
    expect(taken.spec).not.toHaveProperty('surprise');
    expect(taken.spec.apiKeySecretRef).toEqual({ name: 'vps-api-key' });
    await fixAndDelete(world, 'web');
    expectOneLifeEach(world, 1);
  });

  it('gets a condition at the bounds of each field, and can be fixed', async () => {
    const world = await newWorld();
    const valid = validSpecs();
    const reasons = new Map<string, number>();
    await forAll(valid, async ({ path, what, spec }, index) => {
      const name = `valid-${index}`;
      await world.create(manifest(name, spec));
      const { reason = '' } = condition(await settled(world, name), 'Ready') ?? {};
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      expect(reason === 'Available', `${path} ${what}: ${reason}`).toBe(isOffered(spec) && !isToBeOff(spec));
      await fixAndDelete(world, name);
    });
    console.log(`${valid.length} valid specs: ${JSON.stringify(Object.fromEntries(reasons))}`);
    expectOneLifeEach(world, valid.length);
  });
});

/**
 * Fields to vary one at a time: their messages contain a time or a server's address, and an expiry excludes the other
 * one and `Retain`. A server that was Ready before it was to be off has another record than a fresh one.
 */
// A refused order leaves a record, which a fresh object does not have.
const ALONE = [
  'spec.expiresAt',
  'spec.ttl',
  'spec.sshCheck',
  'spec.power',
  ...UNDOCUMENTED.map((field) => `spec.${field}`),
];

/** Changes one to three fields at once. */
function mixed(random: Random, offered: boolean): Spec {
  const isAlone = (path: string): boolean => ALONE.some((field) => `${path}.`.startsWith(`${field}.`));
  const variants = validSpecs().filter(({ path, spec }) => isOffered(spec) === offered && !isAlone(path));
  const chosen = Array.from({ length: random.int(1, 3) }, () => random.pick(variants));
  const changes = chosen.map(({ path, spec }) => {
    const field = path.split(/[.[]/)[1] ?? '';
    return { [field]: spec[field] };
  });
  return Object.assign(goodSpec(), ...changes) as Spec;
}

/** Varies only the fields that an order does not lock. */
function reworded(random: Random, spec: Spec): Spec {
  return { ...mixed(random, true), ...orderedOf(spec) };
}

describe(`a walk through specs (seed ${SEED})`, () => {
  it('leads from A to B and back to the same status as a fresh A, and can be deleted', async () => {
    console.log(`${WALKS} walks; replay with GENERATED_SPECS_SEED=${SEED} GENERATED_SPECS=${WALKS}`);
    const world = await newWorld();
    const invalid = invalidSpecs().filter(({ what }) => what !== 'null' && what !== 'missing');
    await forAll(
      Array.from({ length: WALKS }, (_, walk) => walk),
      async (walk) => {
        // Each walk has its own random source, so it does not depend on the walks that run in parallel.
        const random = new Random(SEED + walk);
        const ordered = random.chance(0.4);
        const a = mixed(random, ordered);
        const b = ordered ? reworded(random, a) : mixed(random, false);
        const [walker, fresh] = [`walker-${walk}`, `fresh-${walk}`];
        await world.create(manifest(walker, a));
        const first = said(await settled(world, walker));
        await moveTo(world, walker, b);
        const { spec } = random.pick(invalid);
        expect(await refusal(world.patch(walker, { spec: mergePatch(b, spec) }))).toBeDefined();
        const back = said(await moveTo(world, walker, a));
        await world.create(manifest(fresh, a));
        const afresh = said(await settled(world, fresh));
        const trail = `walk ${walk}: ${JSON.stringify({ a, b }).slice(0, 1000)}`;
        expect(back, trail).toEqual(afresh);
        expect(back, trail).toEqual(first);
        for (const name of [walker, fresh]) await fixAndDelete(world, name);
      },
    );
    expectOneLifeEach(world, 2 * WALKS);
  });
});
