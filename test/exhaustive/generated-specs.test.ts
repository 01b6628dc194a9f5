/**
 * Specs out of the schema itself (after Acto): what is wrong is refused with the name of the field, what is right never
 * leads to an error, the way to a spec does not matter, and every bad one can be mended.
 * GENERATED_SPECS_SEED replays a run, GENERATED_SPECS says how many walks it makes.
 */
import { describe, expect, it } from 'vitest';
import { API_VERSION, SERVER_KIND, SERVER_PLURAL } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import { goodSpec, invalidSpecs, isOffered, mergePatch, validSpecs, type Spec } from '../gen/specs.ts';
import { Random } from '../sim/random.ts';
import { condition, createWorld, type World } from '../integration/support/world.ts';

const WALKS = Number(process.env.GENERATED_SPECS ?? 24);
const SEED = Number(process.env.GENERATED_SPECS_SEED ?? Date.now() % 2 ** 31);
const AT_ONCE = 12;
/** Reasons that are on the way to another one. */
const PASSING = ['Pending', 'Creating'];

const manifest = (name: string, spec: Spec) => ({
  apiVersion: API_VERSION,
  kind: SERVER_KIND,
  metadata: { name },
  spec,
});
const newWorld = () => createWorld({ simulator: { taskDurationMs: 100 }, flags: ['--max-creates-per-hour=0'] });

/** Runs some at the same time, in the order of the list. */
async function forAll<T>(list: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const left = [...list.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** The API server's words; undefined when it took the spec. */
async function refusal(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && (error.status === 422 || error.status === 400)) return error.message;
    throw error;
  }
}

/** Once the operator has said all that it has to say of the present spec. */
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

/** From wherever it is to Ready, then to its end; what was sent already stays. */
async function mendAndDelete(world: World, name: string): Promise<void> {
  const mended = await moveTo(world, name, { ...(await orderedPart(world, name)), deletionPolicy: 'Delete' });
  expect(condition(mended, 'Ready'), JSON.stringify(mended)).toMatchObject({ status: 'True', reason: 'Available' });
  await world.delete(name);
  await world.waitGone(name);
}

async function orderedPart(world: World, name: string): Promise<Spec> {
  const { spec, status } = (await world.get(name)) ?? {};
  const { product, image, diskSize, sshKeys } = spec ?? {};
  return status?.record?.attempt === undefined
    ? goodSpec()
    : { product, image, diskSize, sshKeys, ...(spec?.sshKeysFrom && { sshKeysFrom: spec.sshKeysFrom }) };
}

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

/** All that an object says, but for times, generations, and what is its own at the provider. */
function said({ status = {} }: VirtualServer): unknown {
  const { conditions = [], identifier = '-', product, specs, price, zone, serverStatus } = status;
  const fields = Object.keys(status).sort();
  const words = conditions.map(({ type, status: value, reason, message }) => ({
    type,
    value,
    reason,
    message: message.replaceAll(identifier, '<identifier>'),
  }));
  return { fields, words, product, specs, price, zone, serverStatus, record: Object.keys(status.record ?? {}).sort() };
}

describe('a spec out of the schema', () => {
  it('that breaks a rule is refused in a create and in a patch, with the name of the field', async () => {
    const world = await newWorld();
    const invalid = invalidSpecs();
    const victim = await world.create(manifest('victim', { ...goodSpec(), product: 'none' }));
    await world.waitForReason('victim', 'InvalidSpec', 'Stalled');
    const wrong: string[] = [];
    await forAll(invalid, async ({ path, what, spec }, index) => {
      const check = (verb: string, words: string | undefined): void => {
        if (words?.includes(path) !== true) wrong.push(`${verb} ${path} ${what}: ${words ?? 'taken'}`);
      };
      check('create', await refusal(world.create(manifest(`invalid-${index}`, spec))));
      // A null in a patch takes a field away; what that leaves is in the list of its own.
      if (what === 'null') return;
      check('patch', await refusal(world.patch('victim', { spec: mergePatch(victim.spec, spec) as object })));
    });
    console.log(`${invalid.length} invalid specs`);
    expect(wrong).toEqual([]);
    expect((await world.get('victim'))?.metadata.generation).toBe(1);
    await mendAndDelete(world, 'victim');
    expectOneLifeEach(world, 1);
  });

  it('with a field that the schema lacks is refused where kubectl asks for it, and loses the field elsewhere', async () => {
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
    await mendAndDelete(world, 'web');
    expectOneLifeEach(world, 1);
  });

  it('at the bounds of each field is answered with a condition, and is mended', async () => {
    const world = await newWorld();
    const valid = validSpecs();
    const reasons = new Map<string, number>();
    await forAll(valid, async ({ path, what, spec }, index) => {
      const name = `valid-${index}`;
      await world.create(manifest(name, spec));
      const { reason = '' } = condition(await settled(world, name), 'Ready') ?? {};
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      expect(reason === 'Available', `${path} ${what}: ${reason}`).toBe(isOffered(spec));
      await mendAndDelete(world, name);
    });
    console.log(`${valid.length} valid specs: ${JSON.stringify(Object.fromEntries(reasons))}`);
    expectOneLifeEach(world, valid.length);
  });
});

/**
 * What is said of them has a time in it or the number of a server; an end excludes another one and `Retain`. Each is
 * looked at alone.
 */
const ALONE = ['spec.expiresAt', 'spec.ttl', 'spec.sshCheck'];

/** One to three fields changed at once. */
function mixed(random: Random, offered: boolean): Spec {
  const variants = validSpecs().filter(({ path, spec }) => isOffered(spec) === offered && !ALONE.includes(path));
  const chosen = Array.from({ length: random.int(1, 3) }, () => random.pick(variants));
  const changes = chosen.map(({ path, spec }) => {
    const field = path.split(/[.[]/)[1] ?? '';
    return { [field]: spec[field] };
  });
  return Object.assign(goodSpec(), ...changes) as Spec;
}

/** The same server, in other words: what the create sends is locked. */
function reworded(random: Random, spec: Spec): Spec {
  const { product, image, diskSize, sshKeys, sshKeysFrom } = spec;
  return { ...mixed(random, true), product, image, diskSize, sshKeys, sshKeysFrom };
}

describe(`a walk through specs (seed ${SEED})`, () => {
  it('from A to B and back says what a fresh A says, and ends well', async () => {
    console.log(`${WALKS} walks; replay with GENERATED_SPECS_SEED=${SEED} GENERATED_SPECS=${WALKS}`);
    const world = await newWorld();
    const invalid = invalidSpecs().filter(({ what }) => what !== 'null' && what !== 'missing');
    await forAll(
      Array.from({ length: WALKS }, (_, walk) => walk),
      async (walk) => {
        // A walk draws from a source of its own, so that it does not depend on which others run beside it.
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
        for (const name of [walker, fresh]) await mendAndDelete(world, name);
      },
    );
    expectOneLifeEach(world, 2 * WALKS);
  }, 600_000);
});
