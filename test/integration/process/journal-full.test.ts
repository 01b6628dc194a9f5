/** A full disk: a small file system under the journal. Needs the right to mount one. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { pageUrl, scrape, valueOf } from '../support/scrape.ts';
import { condition, createWorld } from '../support/world.ts';

const NAMES = Array.from({ length: 24 }, (_, index) => `s${index}`);

/** A folder on a file system of 256 KiB, until the test ends; undefined if this process may not mount one. */
async function smallDisk(): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'vps-operator-small-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', dir], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', dir]));
  return dir;
}

it("orders nothing while the journal's disk is full, reports it, and continues when there is space", async ({
  skip,
}) => {
  const dir = await smallDisk();
  if (dir === undefined) return skip('this process may not mount a file system');
  const journal = join(dir, 'journal');
  const world = await createWorld({
    flags: [`--journal-dir=${journal}`, '--metrics-bind-address=127.0.0.1:0', '--max-creates-per-hour=0'],
  });
  const metrics = await pageUrl(world, '/metrics');
  // The operator renders the page at most once a second, so a request may still get the page of before.
  const broken = () =>
    expect.poll(async () => valueOf(await scrape(metrics), 'vps_operator_journal_broken'), { timeout: 10_000 });
  await broken().toBe(0);
  const filler = join(dir, 'filler');
  await expect(writeFile(filler, Buffer.alloc(512 * 1024))).rejects.toMatchObject({ code: 'ENOSPC' });

  await Promise.all(NAMES.map((name) => world.create(virtualServer(name))));
  const settled = await Promise.all(
    NAMES.map((name) =>
      world.waitFor(name, (object) =>
        ['Available', 'JournalUnavailable'].includes(condition(object, 'Ready')?.reason ?? ''),
      ),
    ),
  );
  const waiting = settled.filter((object) => condition(object, 'Ready')?.reason === 'JournalUnavailable');
  expect(waiting.length).toBeGreaterThan(0);
  for (const object of waiting) {
    expect(condition(object, 'Reconciling')?.message).toContain(
      'cannot write its journal in --journal-dir: no space left on device',
    );
    expect(object.status?.record?.task).toBeUndefined();
  }
  await broken().toBe(1);
  expect(world.simulator.ledger.creates()).toHaveLength(NAMES.length - waiting.length);

  await rm(filler);
  for (const name of NAMES) await world.waitForReason(name, 'Available', 'Ready');
  await broken().toBe(0);
  expect(world.simulator.ledger.creates()).toHaveLength(NAMES.length);
  await world.stopOperator();
  await world.startOperator();
  for (const name of NAMES) await world.visited(name);
  expect(world.simulator.aliveServers()).toHaveLength(NAMES.length);
});
