import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open as openFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEntry } from '../../../../src/virtual-server/journal/attempts.ts';
import { openJournal, type Journal, type JournalOptions } from '../../../../src/virtual-server/journal/journal.ts';
import { FakeTimers } from '../../../gen/timers.ts';

const PROCESS = join(import.meta.dirname, '../../../gen/journal-process.ts');

let base: string;
let dir: string;
let file: string;
let opened: Journal[];
let children: ChildProcess[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'journal-'));
  dir = join(base, 'made', 'journal');
  file = join(dir, 'journal.jsonl');
  opened = [];
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const journal of opened) await journal.close();
  await rm(base, { recursive: true });
});

async function open(options: Partial<JournalOptions> = {}): Promise<Journal> {
  const journal = await openJournal({ dir, ...options });
  opened.push(journal);
  return journal;
}

function entryOf(journal: Journal, uid: string, name: string): JournalEntry | undefined {
  return journal.entries(uid).find(({ attempt }) => attempt === name);
}

async function reopen(journal: Journal, options: Partial<JournalOptions> = {}): Promise<Journal> {
  await journal.close();
  return open(options);
}

function attempt(uid: string, name: string) {
  return { namespace: 'default', name: `web-${uid}`, uid, attempt: name, account: 'acc' };
}

/** Starts a separate process on the folder and resolves with the line that it prints. */
async function startProcess(step: string, limit = ''): Promise<{ child: ChildProcess; answer: unknown }> {
  const script = `${limit} exec "$0" "$@"`;
  const child = spawn('bash', ['-c', script, process.execPath, PROCESS, dir, step], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, answer: JSON.parse(line) };
}

describe.each([{ where: 'in memory' }, { where: 'in a folder' }])('a journal $where', ({ where }) => {
  const openHere = () => open(where === 'in memory' ? { dir: undefined } : {});

  it('returns the attempts of an object in order of minting, each with its state', async () => {
    const journal = await openHere();
    for (const name of ['a3', 'a1', 'a2']) await journal.minted(attempt('u', name));
    await journal.minted(attempt('v', 'b'));
    await journal.sending('u', 'a3');
    await journal.sending('u', 'a1');
    await journal.task('u', 'a1', 7);
    expect(journal.entries('u')).toEqual([
      { ...attempt('u', 'a3'), state: 'sending', own: true },
      { ...attempt('u', 'a1'), state: 'task', task: 7, own: true },
      { ...attempt('u', 'a2'), state: 'minted', own: true },
    ]);
    expect(entryOf(journal, 'v', 'b')).toEqual({ ...attempt('v', 'b'), state: 'minted', own: true });
    expect(journal.uids()).toEqual(['u', 'v']);
  });

  it('has no entries for attempts and objects that were never minted', async () => {
    const journal = await openHere();
    expect(journal.entries('u')).toEqual([]);
    expect(entryOf(journal, 'u', 'a')).toBeUndefined();
    expect(journal.uids()).toEqual([]);
  });

  it('keeps nothing of an attempt except its own fields', async () => {
    const journal = await openHere();
    const more = { ...attempt('u', 'a'), secret: 'xyzzy' };
    await journal.minted(more);
    expect(entryOf(journal, 'u', 'a')).not.toHaveProperty('secret');
  });

  it('forgets a settled attempt and no other', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.minted(attempt('u', 'b'));
    await journal.settle('u', 'a');
    await journal.settle('u', 'never minted');
    expect(journal.entries('u').map((entry) => entry.attempt)).toEqual(['b']);
  });

  it('forgets every attempt of a dropped object and of no other', async () => {
    const journal = await openHere();
    for (const name of ['a', 'b']) await journal.minted(attempt('u', name));
    await journal.minted(attempt('v', 'c'));
    await journal.drop('u');
    await journal.drop('never seen');
    expect(journal.uids()).toEqual(['v']);
  });

  it('refuses to send an attempt twice, after it was accepted, or if it was never minted', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'WrongStep' });
    await journal.task('u', 'a', 7);
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'WrongStep' });
    await expect(journal.sending('u', 'b')).rejects.toMatchObject({ code: 'WrongStep' });
    expect(entryOf(journal, 'u', 'a')).toMatchObject({ state: 'task', task: 7 });
  });

  it('refuses to send an attempt twice at the same time', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    const results = await Promise.allSettled([journal.sending('u', 'a'), journal.sending('u', 'a')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected']);
  });

  it('refuses a second minting and a second task of one attempt, and accepts the same task again', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'WrongStep' });
    await journal.sending('u', 'a');
    await journal.task('u', 'a', 7);
    await journal.task('u', 'a', 7);
    await expect(journal.task('u', 'a', 8)).rejects.toThrow('attempt a has task 7, so it cannot have task 8');
    expect(entryOf(journal, 'u', 'a')).toMatchObject({ task: 7 });
  });

  it('rejects every step once it is closed', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.close();
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Closed' });
    await expect(journal.minted(attempt('u', 'b'))).rejects.toMatchObject({ code: 'Closed' });
    await journal.close();
    expect(journal.entries('u')).toMatchObject([{ attempt: 'a', state: 'minted' }]);
  });
});

describe('a later process on the same folder', () => {
  it('finds every step of the earlier one, marked as not its own', async () => {
    const journal = await open();
    for (const name of ['c', 'a', 'b', 'gone']) await journal.minted(attempt('u', name));
    await journal.sending('u', 'a');
    await journal.sending('u', 'b');
    await journal.task('u', 'b', 0);
    await journal.settle('u', 'gone');
    await journal.minted(attempt('v', 'd'));
    await journal.drop('v');
    const later = await reopen(journal);
    const found = [
      { ...attempt('u', 'c'), state: 'minted', own: false },
      { ...attempt('u', 'a'), state: 'sending', own: false },
      { ...attempt('u', 'b'), state: 'task', task: 0, own: false },
    ];
    expect(later.entries('u')).toEqual(found);
    expect(later.uids()).toEqual(['u']);
    expect((await reopen(later)).entries('u')).toEqual(found);
  });

  it('may complete and settle an attempt, but not send it', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.minted(attempt('u', 'b'));
    const later = await reopen(journal);
    await expect(later.sending('u', 'a')).rejects.toMatchObject({ code: 'WrongStep' });
    await later.task('u', 'a', 7);
    await later.settle('u', 'b');
    expect((await reopen(later)).entries('u')).toMatchObject([{ attempt: 'a', state: 'task', task: 7 }]);
  });

  it('finds a step as soon as it resolved, even without a close', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    expect(await readFile(file, 'utf8')).toMatch(/"state":"sending"[^\n]*\n$/);
  });

  it('finds the same after concurrent steps', async () => {
    const journal = await open();
    const uids = Array.from({ length: 200 }, (_, index) => `u${index}`);
    await Promise.all(
      uids.map(async (uid, index) => {
        await journal.minted(attempt(uid, 'a'));
        await journal.sending(uid, 'a');
        if (index % 3 === 0) await journal.task(uid, 'a', index);
        if (index % 3 === 1) await journal.drop(uid);
      }),
    );
    const before = journal.uids().flatMap((uid) => journal.entries(uid));
    const later = await reopen(journal);
    expect(later.uids().flatMap((uid) => later.entries(uid))).toEqual(
      before.map((entry) => ({ ...entry, own: false })),
    );
    expect(later.uids()).toHaveLength(133);
  });

  it('finds a step that overtook the forgetting of its attempt, in memory as in the file', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await Promise.all([journal.drop('u'), journal.sending('u', 'a')]);
    expect(journal.entries('u')).toMatchObject([{ state: 'sending' }]);
    expect((await reopen(journal)).entries('u')).toMatchObject([{ state: 'sending' }]);
  });
});

describe('the file', () => {
  it('is readable only by its owner, as is a folder that had to be created', async () => {
    await open();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
  });

  it('contains only what is needed, one JSON object per line', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    const later = await reopen(journal);
    await later.settle('u', 'a');
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ...attempt('u', 'a'), state: 'sending' },
      { forget: 'a', uid: 'u' },
    ]);
    expect((await reopen(later)).uids()).toEqual([]);
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('is compacted while it grows, without losing or reviving a step', async () => {
    const journal = await open({ compactBytes: 1_000 });
    await journal.minted(attempt('kept', 'k'));
    await journal.sending('kept', 'k');
    for (let round = 0; round < 40; round++) {
      await journal.minted(attempt('u', `a${round}`));
      await journal.sending('u', `a${round}`);
      await journal.settle('u', `a${round}`);
      const { size } = await stat(file);
      expect(size).toBeLessThan(2_000);
    }
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const later = await reopen(journal);
    expect(later.uids()).toEqual(['kept']);
    expect(later.entries('kept')).toMatchObject([{ attempt: 'k', state: 'sending' }]);
  });

  it('is compacted at any step without reviving what that step forgot', async () => {
    for (let padding = 0; padding < 6; padding++) {
      const journal = await open({ compactBytes: 0 });
      for (let count = 0; count < 60; count++) {
        await journal.minted(attempt('u', `a${'x'.repeat(padding * count)}`));
        await journal.drop('u');
      }
      const later = await reopen(journal);
      expect(later.uids()).toEqual([]);
      await later.close();
    }
  });

  it('survives a compaction that a crash cut off', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.close();
    await writeFile(`${file}.new`, '{"half a li');
    expect((await open()).entries('u')).toMatchObject([{ attempt: 'a' }]);
  });

  const task = '{"namespace":"d","name":"n","uid":"u","attempt":"a","state":"task","task":7}';
  const sending = '{"namespace":"d","name":"n","uid":"u","attempt":"a","state":"sending"}';

  it.each([
    { torn: task.slice(0, -3), reason: 'cut within the line' },
    { torn: '{', reason: 'cut after its first byte' },
    { torn: '\0'.repeat(100), reason: 'length on the disk, but not the content' },
  ])('loses a torn last line ($reason) and reports it', async ({ torn }) => {
    await (await open()).close();
    await writeFile(file, `${sending}\n${torn}`);
    const told: unknown[] = [];
    const journal = await open({ warn: (message, fields) => told.push([message, fields]) });
    expect(journal.entries('u')).toMatchObject([{ attempt: 'a', state: 'sending', own: false }]);
    expect(told).toEqual([['journal: cut off a torn last line', { file, length: torn.length }]]);
    await journal.minted(attempt('v', 'b'));
    expect((await reopen(journal)).uids()).toEqual(['u', 'v']);
  });

  it('keeps a last line that lacks only its line end', async () => {
    await (await open()).close();
    await writeFile(file, `${sending}\n${task}`);
    expect((await open()).entries('u')).toMatchObject([{ state: 'task', task: 7 }]);
  });

  it.each([
    { line: '{"half a li', problem: 'it is not JSON' },
    { line: '', problem: 'it is not JSON' },
    { line: '[]', problem: 'it is not an entry of this version' },
    { line: task.replace(',"task":7', ''), problem: 'it is not an entry of this version' },
    { line: sending.replace('"sending"', '"sent"'), problem: 'it is not an entry of this version' },
    { line: sending.replace('}', ',"more":1}'), problem: 'it is not an entry of this version' },
    { line: sending.replace('"n"', '"\uFFFD"'), problem: 'it is not UTF-8' },
  ])('is rejected unchanged for the corrupt line $line, and the error names the line', async ({ line, problem }) => {
    await (await open()).close();
    const text = `${sending}\n${line}\n${task}\n`;
    await writeFile(file, text);
    const message = `journal ${file}, line 2: ${problem}.`;
    await expect(open()).rejects.toMatchObject({
      code: 'Corrupt',
      message: expect.stringContaining(message) as string,
    });
    expect(await readFile(file, 'utf8')).toBe(text);
    await writeFile(file, `${sending}\n`);
    expect((await open()).uids()).toEqual(['u']);
  });

  it('is rejected for bytes that are not UTF-8', async () => {
    await (await open()).close();
    await writeFile(file, Buffer.from(`${sending.replace('"n"', '"\xff"')}\n`, 'latin1'));
    await expect(open()).rejects.toThrow('line 1: it is not UTF-8');
  });

  it('cannot be created if a file is in the place of the folder', async () => {
    const path = join(base, 'not-a-folder');
    await writeFile(path, 'text');
    await expect(open({ dir: path })).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(path, 'utf8')).toBe('text');
  });

  it('accepts no step while the disk is full, and loses no earlier step', async () => {
    const { child, answer } = await startProcess('fill', 'ulimit -S -f 4;');
    const { minted } = answer as { minted: number };
    expect(minted).toBeGreaterThan(5);
    expect(answer).toEqual({
      minted,
      failure: 'Failed',
      problems: [null, 'file too large'],
      sending: 'Failed',
      next: 'Failed',
      task: 'Failed',
      // An accepted task is known in memory, whatever the disk reports.
      states: ['task', ...Array.from({ length: minted - 1 }, () => 'minted')],
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    const found = (await open()).entries('u');
    expect(found.map(({ state }) => state)).toEqual([
      'task',
      ...Array.from({ length: minted - 1 }, () => 'minted'),
      'sending',
    ]);
  });
});

describe('a journal on a disk that refuses writes', () => {
  const RETRY_MS = 5_000;
  const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  let timers: FakeTimers;
  let told: string[];
  let restore: () => void;

  beforeEach(() => {
    timers = new FakeTimers();
    told = [];
    restore = () => undefined;
  });

  afterEach(() => restore());

  const openHere = (): Promise<Journal> => open({ timers, warn: (message) => told.push(message) });

  /** From now on, a write stores `bytes` of its data on disk and then fails. */
  async function refuse(bytes = 0): Promise<void> {
    const handle = await openFile(join(base, 'probe'), 'w');
    const prototype = Object.getPrototypeOf(handle) as {
      write: (data: Buffer, at?: number, length?: number) => Promise<void>;
    };
    await handle.close();
    const { write } = prototype;
    const spy = vi.spyOn(prototype, 'write').mockImplementation(async function (this: unknown, data, at) {
      if (bytes > 0) await write.call(this, data, at, bytes);
      throw FULL;
    });
    restore = () => spy.mockRestore();
  }

  /** Lets the journal retry once; resolves with its problem afterwards. */
  async function retried(journal: Journal): Promise<string | undefined> {
    timers.advance(RETRY_MS);
    await vi.waitFor(() => {
      if (journal.problem !== undefined) expect(timers.pending).toBe(1);
    });
    return journal.problem;
  }

  it('refuses every step, and reports why', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    expect(journal.problem).toBeUndefined();
    await refuse();
    await expect(journal.minted(attempt('v', 'b'))).rejects.toMatchObject({ code: 'Failed' });
    restore();
    expect(journal.problem).toBe('no space left on device');
    await expect(journal.sending('u', 'a')).rejects.toThrow(
      `journal ${file} cannot be written: no space left on device`,
    );
    expect(journal.entries('u')).toMatchObject([{ state: 'minted' }]);
    expect(journal.uids()).toEqual(['u']);
  });

  it.each([{ bytes: 0 }, { bytes: 1 }, { bytes: 40 }])(
    'accepts writes again once it has room, without the line that was torn after $bytes bytes',
    async ({ bytes }) => {
      const journal = await openHere();
      await journal.minted(attempt('u', 'a'));
      await refuse(bytes);
      await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
      expect(await retried(journal)).toBe('no space left on device');
      restore();
      timers.advance(RETRY_MS - 1);
      await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
      timers.advance(1);
      await vi.waitFor(() => expect(journal.problem).toBeUndefined());
      await journal.sending('u', 'a');
      expect(await readFile(file, 'utf8')).toBe(
        ['minted', 'sending'].map((state) => `${JSON.stringify({ ...attempt('u', 'a'), state })}\n`).join(''),
      );
      expect(told).toEqual(['journal: writable again']);
    },
  );

  it('leaves no partial new file behind', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await refuse(10);
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    await retried(journal);
    await vi.waitFor(async () => expect(await readdir(dir)).toEqual(['journal.jsonl']));
  });

  it('includes the steps of the meantime in the next file', async () => {
    const journal = await openHere();
    for (const name of ['accepted', 'refused', 'resolved']) {
      await journal.minted(attempt('u', name));
      await journal.sending('u', name);
    }
    await refuse();
    await expect(journal.task('u', 'accepted', 7)).rejects.toMatchObject({ code: 'Failed' });
    await expect(journal.createdNothing('u', 'refused')).rejects.toMatchObject({ code: 'Failed' });
    await expect(journal.settle('u', 'resolved')).rejects.toMatchObject({ code: 'Failed' });
    const known = [
      { attempt: 'accepted', state: 'task', task: 7 },
      { attempt: 'refused', state: 'minted' },
    ];
    expect(journal.entries('u')).toMatchObject(known);
    restore();
    expect(await retried(journal)).toBeUndefined();
    expect((await reopen(journal)).entries('u')).toMatchObject(known);
  });

  it('restores an attempt after a crash if the disk refused the step that forgets it', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    await refuse();
    await expect(journal.settle('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(journal.entries('u')).toEqual([]);
    await journal.close();
    restore();
    expect((await open()).entries('u')).toMatchObject([{ attempt: 'a', state: 'sending' }]);
  });

  it('stops retrying once the journal is closed', async () => {
    const journal = await openHere();
    await refuse();
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Failed' });
    await journal.close();
    expect(timers.pending).toBe(0);
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Closed' });
  });
});

describe('durability', () => {
  it('syncs every step to the disk before the step resolves', async () => {
    const probe = await openFile(join(base, 'probe'), 'w');
    const prototype = Object.getPrototypeOf(probe) as { datasync: () => Promise<void> };
    await probe.close();
    // Only the calls show whether the disk was told to keep its data.
    const synced = vi.spyOn(prototype, 'datasync');
    try {
      const journal = await open();
      for (const step of [
        () => journal.minted(attempt('u', 'a1')),
        () => journal.sending('u', 'a1'),
        () => journal.task('u', 'a1', 1),
      ]) {
        const before = synced.mock.results.length;
        await step();
        expect(synced.mock.results.length).toBeGreaterThan(before);
        expect(synced.mock.settledResults.every(({ type }) => type === 'fulfilled')).toBe(true);
      }
    } finally {
      synced.mockRestore();
    }
  });
});

describe('the lock', () => {
  it('refuses a second opener in the same process, and is released on close', async () => {
    const journal = await open();
    await expect(open()).rejects.toMatchObject({
      code: 'InUse',
      message: `journal folder ${dir} is in use by another process`,
    });
    await journal.close();
    await open();
  });

  it('refuses a second process, under any name of the folder', async () => {
    await open();
    dir = join(dir, '..', 'journal');
    const { answer } = await startProcess('hold');
    expect(answer).toMatchObject({ code: 'InUse' });
  });

  it('is free at once after its holder was killed, and the steps that the holder confirmed are there', async () => {
    const { child, answer } = await startProcess('hold');
    expect(answer).toEqual({ ready: true });
    await expect(open()).rejects.toMatchObject({ code: 'InUse' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await open()).entries('u')).toMatchObject([{ attempt: 'a0', state: 'sending', own: false }]);
  });

  it('of one folder does not affect another folder', async () => {
    await open();
    await open({ dir: join(base, 'other') });
    await open({ dir: undefined });
  });
});
