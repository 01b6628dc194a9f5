import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as realFiles from 'node:fs/promises';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FileSystem, JournalEntry } from '../../../../src/virtual-server/journal/notes.ts';
import {
  BOOT_ID_FILE,
  openJournal,
  unsentIn,
  type Journal,
  type JournalOptions,
} from '../../../../src/virtual-server/journal/journal.ts';
import { FakeTimers } from '../../../fixtures/timers.ts';

const PROCESS = join(import.meta.dirname, '../../../fixtures/journal-process.ts');
const BOOT = '11111111-1111-4111-8111-111111111111';
const NEXT_BOOT = '22222222-2222-4222-8222-222222222222';

let base: string;
let dir: string;
let opened: Journal[];
let children: ChildProcess[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'journal-'));
  dir = join(base, 'made', 'journal');
  opened = [];
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const journal of opened) await journal.close();
  await rm(base, { recursive: true });
});

type Options = Partial<JournalOptions> & { bootId?: string };

/** In a machine with this boot id. */
async function open({ bootId = BOOT, files = realFiles, ...options }: Options = {}): Promise<Journal> {
  const readFile: FileSystem['readFile'] = (path, encoding) =>
    path === BOOT_ID_FILE ? Promise.resolve(`${bootId}\n`) : files.readFile(path, encoding);
  const journal = await openJournal({ dir, files: { ...files, readFile }, ...options });
  opened.push(journal);
  return journal;
}

function entryOf(journal: Journal, uid: string, name: string): JournalEntry | undefined {
  return journal.entries(uid).find(({ attempt }) => attempt === name);
}

async function reopen(journal: Journal, options: Options = {}): Promise<Journal> {
  await journal.close();
  return open(options);
}

function attempt(uid: string, name: string) {
  return { namespace: 'default', name: `web-${uid}`, uid, attempt: name, account: 'acc' };
}

/** The names of the notes in the folder, each without the key of its attempt. */
async function states(): Promise<string[]> {
  return (await readdir(dir)).map((name) => name.replace(/^[0-9a-f]{64}\./, '')).sort();
}

/** The path of the only note. */
async function notePath(): Promise<string> {
  const [name, ...others] = await readdir(dir);
  expect(others).toEqual([]);
  return join(dir, name ?? '');
}

/** Starts a separate process on the folder and resolves with the line that it prints. */
async function startProcess(step: string): Promise<{ child: ChildProcess; answer: unknown }> {
  const child = spawn(process.execPath, [PROCESS, dir, step], { stdio: ['ignore', 'pipe', 'inherit'] });
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
      { ...attempt('u', 'a3'), state: 'sending', own: true, wasSending: true },
      { ...attempt('u', 'a1'), state: 'task', task: 7, own: true, wasSending: true },
      { ...attempt('u', 'a2'), state: 'minted', own: true },
    ]);
    expect(entryOf(journal, 'v', 'b')).toEqual({ ...attempt('v', 'b'), state: 'minted', own: true });
    expect(journal.uids()).toEqual(['u', 'v']);
  });

  it('keeps every digit of a task beyond 2^53', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    await journal.task('u', 'a', '9007199254740993');
    await expect(journal.task('u', 'a', '9007199254740992')).rejects.toThrow('cannot have task 9007199254740992');
    const read = where === 'in memory' ? journal : await reopen(journal);
    expect(entryOf(read, 'u', 'a')).toMatchObject({ state: 'task', task: '9007199254740993' });
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

  it('gives an attempt for the next claim only while it was certainly never sent, and for the same account', async () => {
    const journal = await openHere();
    const unsent = (account = 'acc'): string | undefined => unsentIn(journal.entries('u'), account);
    expect(unsent()).toBeUndefined();
    for (const mintedAt of ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z']) {
      await journal.minted({ ...attempt('u', 'a'), mintedAt });
      expect(unsent()).toBe('a');
      expect(unsent('other')).toBeUndefined();
      expect(journal.entries('u')).toMatchObject([{ attempt: 'a', mintedAt, state: 'minted' }]);
    }
    await journal.sending('u', 'a');
    expect(unsent()).toBeUndefined();
    await journal.createdNothing('u', 'a');
    expect(unsent()).toBeUndefined();
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'WrongStep' });
  });

  it('refuses a second task of one attempt, and accepts the same task again', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
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
  it('finds every step of the earlier one in order of minting, marked as not its own', async () => {
    const journal = await open();
    const at = (name: string, second: number) => ({ ...attempt('u', name), mintedAt: `2026-01-01T00:00:0${second}Z` });
    for (const [second, name] of ['c', 'a', 'b', 'gone'].entries()) await journal.minted(at(name, second));
    await journal.sending('u', 'a');
    await journal.sending('u', 'b');
    await journal.task('u', 'b', 0);
    await journal.settle('u', 'gone');
    await journal.minted(attempt('v', 'd'));
    await journal.drop('v');
    const later = await reopen(journal);
    const found = [
      { ...at('c', 0), state: 'minted', own: false },
      { ...at('a', 1), state: 'sending', own: false },
      { ...at('b', 2), state: 'task', task: 0, own: false },
    ];
    expect(later.entries('u')).toEqual(found);
    expect(later.uids()).toEqual(['u']);
    expect((await reopen(later)).entries('u')).toEqual(found);
  });

  it('finds one note of an attempt that several claims have named, with the time of the last one', async () => {
    const journal = await open();
    for (const hour of [1, 2, 3])
      await journal.minted({ ...attempt('u', 'a'), mintedAt: `2026-01-01T0${hour}:00:00Z` });
    expect(await states()).toEqual([`${BOOT}.minted`]);
    const later = await reopen(journal);
    expect(later.entries('u')).toMatchObject([{ attempt: 'a', mintedAt: '2026-01-01T03:00:00Z', state: 'minted' }]);
    expect(unsentIn(later.entries('u'), 'acc')).toBeUndefined();
    await expect(later.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'WrongStep' });
  });

  it('keeps the note of an attempt whose next claim the disk refuses', async () => {
    let isFull = false;
    const writeFile: FileSystem['writeFile'] = (path, text, options) =>
      isFull
        ? Promise.reject(new Error('ENOSPC: no space left on device, write'))
        : realFiles.writeFile(path, text, options);
    const journal = await open({ files: { ...realFiles, writeFile } });
    const first = { ...attempt('u', 'a'), mintedAt: '2026-01-01T01:00:00Z' };
    await journal.minted(first);
    isFull = true;
    await expect(journal.minted({ ...first, mintedAt: '2026-01-01T02:00:00Z' })).rejects.toMatchObject({
      code: 'Failed',
    });
    expect(journal.entries('u')).toMatchObject([first]);
    expect(await states()).toEqual([`${BOOT}.minted`]);
    expect(JSON.parse(await readFile(await notePath(), 'utf8'))).toMatchObject(first);
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
    expect(await states()).toEqual([`${BOOT}.minted`]);
    await journal.sending('u', 'a');
    expect(await states()).toEqual([`${BOOT}.sending`]);
    await journal.createdNothing('u', 'a');
    expect(await states()).toEqual([`${BOOT}.minted`]);
    await journal.sending('u', 'a');
    await journal.task('u', 'a', 1001);
    expect(await states()).toEqual([`${BOOT}.task-1001`]);
    await journal.settle('u', 'a');
    expect(await states()).toEqual([]);
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
    const later = await reopen(journal);
    for (const uid of uids) {
      const noted = journal.entries(uid).map(({ wasSending: _wasSending, ...entry }) => ({ ...entry, own: false }));
      expect(later.entries(uid)).toEqual(noted);
    }
    expect(later.uids()).toHaveLength(133);
  });

  it('finds a step that overtook the forgetting of its attempt, in memory as on the disk', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await Promise.all([journal.drop('u'), journal.sending('u', 'a')]);
    expect(journal.entries('u')).toMatchObject([{ state: 'sending' }]);
    expect((await reopen(journal)).entries('u')).toMatchObject([{ state: 'sending' }]);
  });
});

describe('the note of an order that was sent within the last hour, and whose attempt is forgotten', () => {
  const timers = new FakeTimers();
  const minutes = (count: number): string => new Date(timers.now() + count * 60_000).toISOString();

  async function forgetAll(journal: Journal, age: number): Promise<void> {
    const mintedAt = minutes(-age);
    for (const name of ['sent', 'accepted', 'unsent']) await journal.minted({ ...attempt('u', name), mintedAt });
    for (const name of ['sent', 'accepted']) await journal.sending('u', name);
    await journal.task('u', 'accepted', 7);
    await journal.settle('u', 'sent');
    await journal.drop('u');
  }

  it('tells the next process of the order, and of nothing else, until the hour has passed', async () => {
    const journal = await open({ timers });
    await forgetAll(journal, 20);
    const mintedAt = minutes(-20);
    const later = await reopen(journal, { timers });
    expect(later.uids()).toEqual([]);
    const orders = ['accepted', 'sent'].map((name) => ({ namespace: 'default', attempt: name, mintedAt }));
    expect(later.ended.toSorted((a, b) => a.attempt.localeCompare(b.attempt))).toEqual(orders);
    timers.advance(40 * 60_000);
    expect((await reopen(later, { timers })).ended).toEqual([]);
    expect(await states()).toEqual([]);
  });

  it('is not kept if the order is older', async () => {
    await forgetAll(await open({ timers }), 60);
    expect(await states()).toEqual([]);
  });

  it('is removed by the same process after an hour, and survives a full disk until then', async () => {
    let write: FileSystem['writeFile'] = realFiles.writeFile;
    const files: FileSystem = { ...realFiles, writeFile: (...file) => write(...file) };
    const journal = await open({ timers, files });
    await forgetAll(journal, 0);
    expect(await states()).toEqual([`${BOOT}.ended`, `${BOOT}.ended`]);
    write = () => Promise.reject(new Error('EROFS: read-only, write'));
    await expect(journal.minted(attempt('v', 'b'))).rejects.toThrow('read-only');
    write = realFiles.writeFile;
    timers.advance(5_000);
    await vi.waitFor(() => expect(journal.problem).toBeUndefined());
    expect(await states()).toEqual([`${BOOT}.ended`, `${BOOT}.ended`]);
    timers.advance(60 * 60_000);
    await forgetAll(journal, 60);
    expect(await states()).toEqual([]);
  });

  it('prevents no start if it cannot be read', async () => {
    const journal = await open({ timers });
    await forgetAll(journal, 20);
    const [name = ''] = await readdir(dir);
    await writeFile(join(dir, name), '');
    expect((await reopen(journal, { timers })).ended).toHaveLength(1);
    expect(await states()).toEqual([`${BOOT}.ended`]);
  });

  it('counts less than a step that overtook the forgetting', async () => {
    const journal = await open({ timers });
    await journal.minted({ ...attempt('u', 'a'), mintedAt: minutes(0) });
    await journal.sending('u', 'a');
    await Promise.all([journal.drop('u'), journal.task('u', 'a', 7)]);
    const later = await reopen(journal, { timers });
    expect(later.entries('u')).toMatchObject([{ state: 'task', task: 7 }]);
    expect(later.ended).toEqual([]);
  });
});

describe('after the machine has died', () => {
  it('takes no note as proof that nothing was sent, and keeps what may have been sent', async () => {
    const journal = await open();
    for (const name of ['a', 'b', 'c']) await journal.minted(attempt('u', name));
    await journal.sending('u', 'b');
    await journal.sending('u', 'c');
    await journal.task('u', 'c', 7);
    const later = await reopen(journal, { bootId: NEXT_BOOT });
    const found = [
      { attempt: 'b', state: 'sending', own: false },
      { attempt: 'c', state: 'task', task: 7, own: false },
    ];
    const byName = (entries: readonly JournalEntry[]) => entries.toSorted((a, b) => a.attempt.localeCompare(b.attempt));
    expect(byName(later.entries('u'))).toMatchObject(found);
    expect(byName((await reopen(later, { bootId: NEXT_BOOT })).entries('u'))).toMatchObject(found);
  });

  it('never takes such a note as proof later, even if the first boot id returns', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    const later = await reopen(journal, { bootId: NEXT_BOOT });
    expect((await reopen(later)).uids()).toEqual([]);
  });

  it.each(['', '{"namespace":"d","name":"n', '\0'.repeat(100)])(
    'starts with a note whose content was lost (%j), reports its name and removes it',
    async (left) => {
      const journal = await open();
      await journal.minted(attempt('u', 'a'));
      await journal.sending('u', 'a');
      await journal.task('u', 'a', 1001);
      const path = await notePath();
      await writeFile(path, left);
      const told: unknown[] = [];
      const later = await reopen(journal, {
        bootId: NEXT_BOOT,
        warn: (message, fields) => told.push([message, fields]),
      });
      expect(later.uids()).toEqual([]);
      expect(told).toEqual([
        ['journal: removed a note whose content was lost when the machine crashed', { file: path }],
      ]);
      expect(path).toMatch(/task-1001$/);
      expect(await readdir(dir)).toEqual([]);
    },
  );

  it('counts the later one of two states that a file system without a journal left', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    const path = await notePath();
    await writeFile(path.replace(/sending$/, 'task-7'), await readFile(path));
    await writeFile(path.replace(/sending$/, 'minted'), await readFile(path));
    const later = await reopen(journal, { bootId: NEXT_BOOT });
    expect(later.entries('u')).toMatchObject([{ state: 'task', task: 7 }]);
    await later.settle('u', 'a');
    expect(await readdir(dir)).toEqual([]);
  });

  it('takes no note of an earlier process as proof if the system has no boot id', async () => {
    const journal = await open({ bootId: '' });
    for (const name of ['a', 'b']) await journal.minted(attempt('u', name));
    await journal.sending('u', 'b');
    expect((await reopen(journal, { bootId: '' })).entries('u')).toMatchObject([{ attempt: 'b', state: 'sending' }]);
  });
});

describe('a note', () => {
  it('is readable only by its owner, as is a folder that had to be created', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    expect((await stat(await notePath())).mode & 0o777).toBe(0o600);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
  });

  it.each(['../../etc/passwd', '.', '\0', 'a'.repeat(10_000), 'ä/\n.new'])(
    'stays in the folder whatever the attempt is called: %j',
    async (name) => {
      const journal = await open();
      await journal.minted(attempt('u', name));
      await journal.minted(attempt('v', name));
      await journal.sending('u', name);
      expect(await readdir(dir)).toHaveLength(2);
      const later = await reopen(journal);
      expect(later.entries('u')).toMatchObject([{ attempt: name, state: 'sending' }]);
      expect(later.entries('v')).toMatchObject([{ attempt: name, state: 'minted' }]);
    },
  );

  it('does not count before it has its name, and what a crash left of it is removed', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.close();
    const path = await notePath();
    await rename(path, path.replace(/\.[^/]*$/, '.new'));
    expect((await open()).uids()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  it.each([
    { text: '{"half a li', problem: 'it is not JSON' },
    { text: '', problem: 'it is not JSON' },
    { text: '[]', problem: 'it is not an entry of this version' },
    { text: JSON.stringify({ ...attempt('u', 'a'), more: 1 }), problem: 'it is not an entry of this version' },
    { text: JSON.stringify({ ...attempt('u', 'a'), name: '' }), problem: 'it is not an entry of this version' },
  ])('prevents the start if it is $text, and is not changed', async ({ text, problem }) => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.close();
    const path = await notePath();
    await writeFile(path, text);
    await expect(open()).rejects.toMatchObject({
      code: 'Corrupt',
      message: expect.stringContaining(`journal ${path}: ${problem}.`) as string,
    });
    expect(await readFile(path, 'utf8')).toBe(text);
    await rm(path);
    expect((await open()).uids()).toEqual([]);
  });

  it('prevents the start if its bytes are not UTF-8', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.close();
    await writeFile(await notePath(), Buffer.from(JSON.stringify({ ...attempt('u', 'a'), name: '\xff' }), 'latin1'));
    await expect(open()).rejects.toMatchObject({ code: 'Corrupt' });
  });

  it('of another version prevents the start after the death of the machine, too', async () => {
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    await journal.close();
    await writeFile(await notePath(), JSON.stringify({ ...attempt('u', 'a'), more: 1 }));
    await expect(open({ bootId: NEXT_BOOT })).rejects.toMatchObject({ code: 'Corrupt' });
  });
});

describe('the folder', () => {
  it('keeps files that are not notes', async () => {
    await mkdir(join(dir, 'lost+found'), { recursive: true });
    await writeFile(join(dir, 'README'), 'text');
    const journal = await open();
    await journal.minted(attempt('u', 'a'));
    await journal.settle('u', 'a');
    expect((await readdir(dir)).sort()).toEqual(['README', 'lost+found']);
  });

  it('cannot be created if a file is in its place', async () => {
    const path = join(base, 'not-a-folder');
    await writeFile(path, 'text');
    await expect(open({ dir: path })).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(path, 'utf8')).toBe('text');
  });
});

describe('the file of an earlier version', () => {
  const task = '{"namespace":"d","name":"n","uid":"u","attempt":"a","account":"acc","state":"task","task":7}';
  const sending = '{"namespace":"d","name":"n","uid":"u","attempt":"b","state":"sending"}';
  const minted = '{"namespace":"d","name":"n","uid":"v","attempt":"c","state":"minted"}';
  let file: string;

  beforeEach(async () => {
    file = join(dir, 'journal.jsonl');
    await mkdir(dir, { recursive: true });
  });

  it('becomes notes', async () => {
    await writeFile(file, [task.replace(/"state.*/, '"state":"minted"}'), sending, minted, task, ''].join('\n'));
    await writeFile(`${file}.new`, 'torn');
    const journal = await open();
    const found = [
      { attempt: 'a', account: 'acc', state: 'task', task: 7, own: false },
      { attempt: 'b', state: 'sending', own: false },
    ];
    expect(journal.entries('u')).toMatchObject(found);
    expect(journal.entries('v')).toMatchObject([{ attempt: 'c', state: 'minted', own: false }]);
    expect(await states()).toEqual([`${BOOT}.minted`, `${BOOT}.sending`, `${BOOT}.task-7`]);
    const later = await reopen(journal);
    expect(later.entries('u')).toHaveLength(2);
    expect(later.entries('u')).toEqual(
      expect.arrayContaining(found.map((one) => expect.objectContaining(one) as unknown)),
    );
  });

  it('counts without the attempts that it forgets, and without a torn last line', async () => {
    await writeFile(file, [sending, '{"forget":"b","uid":"u"}', minted, task.slice(0, -3)].join('\n'));
    const journal = await open();
    expect(journal.uids()).toEqual(['v']);
    expect(await states()).toEqual([`${BOOT}.minted`]);
  });

  it('is read again after a crash in the middle, and the notes count more', async () => {
    await writeFile(file, `${sending}\n`);
    const journal = await open();
    await journal.task('u', 'b', 9);
    await writeFile(file, `${sending}\n${minted}\n`);
    const later = await reopen(journal);
    expect(later.entries('u')).toMatchObject([{ attempt: 'b', state: 'task', task: 9 }]);
    expect(later.entries('v')).toMatchObject([{ attempt: 'c', state: 'minted' }]);
  });

  it('prevents the start, unchanged, if another line cannot be read', async () => {
    const text = `${task}\n{"half a li\n${sending}\n`;
    await writeFile(file, text);
    await expect(open()).rejects.toMatchObject({
      code: 'Corrupt',
      message: expect.stringContaining(`journal ${file}, line 2: it is not JSON.`) as string,
    });
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});

describe('a journal on a disk that refuses writes', () => {
  const RETRY_MS = 5_000;
  const FULL = 'no space left on device';
  const READ_ONLY = 'read-only file system';
  let timers: FakeTimers;
  let told: string[];
  /** Why the disk refuses, by what it refuses. */
  let refused: { writing?: string; renaming?: string; renamesAllTheSame?: boolean; removing?: string };

  beforeEach(() => {
    timers = new FakeTimers();
    told = [];
    refused = {};
  });

  const files: FileSystem = {
    ...realFiles,
    async writeFile(path, text, options) {
      if (refused.writing !== undefined) {
        // A part may fit.
        await writeFile(path, text.slice(0, 10), options);
        throw new Error(`EXYZ: ${refused.writing}, write`);
      }
      await writeFile(path, text, options);
    },
    async rename(from, to) {
      if (refused.renamesAllTheSame === true) await rename(from, to);
      if (refused.renaming !== undefined) throw new Error(`EXYZ: ${refused.renaming}, rename '${from}'`);
      await rename(from, to);
    },
    async unlink(path) {
      if (refused.removing !== undefined) throw new Error(`EXYZ: ${refused.removing}, unlink '${path}'`);
      await unlink(path);
    },
  };

  const openHere = (): Promise<Journal> => open({ timers, files, warn: (message) => told.push(message) });

  /** Lets the journal retry once; resolves with its problem afterwards. */
  async function retried(journal: Journal): Promise<string | undefined> {
    timers.advance(RETRY_MS);
    await vi.waitFor(() => {
      if (journal.problem !== undefined) expect(timers.pending).toBe(1);
    });
    return journal.problem;
  }

  it('refuses a new attempt, reports why, and leaves nothing of it', async () => {
    const journal = await openHere();
    expect(journal.problem).toBeUndefined();
    refused = { writing: FULL };
    await expect(journal.minted(attempt('v', 'b'))).rejects.toMatchObject({
      code: 'Failed',
      message: `journal ${dir} cannot be written: no space left on device`,
    });
    expect(journal.problem).toBe('no space left on device');
    expect(journal.uids()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  it('takes every step of an attempt that was noted before the disk was full', async () => {
    const journal = await openHere();
    for (const name of ['accepted', 'refused', 'resolved']) await journal.minted(attempt(name, name));
    refused = { writing: FULL };
    await expect(journal.minted(attempt('v', 'b'))).rejects.toMatchObject({ code: 'Failed' });
    for (const name of ['accepted', 'refused', 'resolved']) await journal.sending(name, name);
    await journal.task('accepted', 'accepted', 7);
    await journal.createdNothing('refused', 'refused');
    await journal.settle('resolved', 'resolved');
    expect(await states()).toEqual([`${BOOT}.minted`, `${BOOT}.task-7`]);
    expect(journal.problem).toBe('no space left on device');
  });

  it('accepts new attempts again once a try shows that it can write', async () => {
    const journal = await openHere();
    refused = { writing: FULL };
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Failed' });
    expect(await retried(journal)).toBe('no space left on device');
    refused = {};
    timers.advance(RETRY_MS - 1);
    expect(journal.problem).toBe('no space left on device');
    timers.advance(1);
    await vi.waitFor(() => expect(journal.problem).toBeUndefined());
    await journal.minted(attempt('u', 'a'));
    expect(await states()).toEqual([`${BOOT}.minted`]);
    expect(told).toEqual(['journal: writable again']);
    expect(timers.pending).toBe(0);
  });

  it('does not let an attempt be sent again while a refused rename may have set its note back to minted', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    refused = { renaming: READ_ONLY, renamesAllTheSame: true };
    await expect(journal.createdNothing('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(await states()).toEqual([`${BOOT}.minted`]);
    refused = {};
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(await retried(journal)).toBeUndefined();
    await journal.sending('u', 'a');
    expect(await states()).toEqual([`${BOOT}.sending`]);
  });

  it('does not let an attempt be sent if its note cannot be renamed', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    refused = { renaming: READ_ONLY };
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(journal.entries('u')).toMatchObject([{ state: 'minted' }]);
    expect(journal.problem).toBe('read-only file system');
  });

  it('notes the steps of the meantime once it can', async () => {
    const journal = await openHere();
    for (const name of ['accepted', 'refused', 'resolved']) {
      await journal.minted(attempt('u', name));
      await journal.sending('u', name);
    }
    refused = { writing: READ_ONLY, renaming: READ_ONLY, removing: READ_ONLY };
    await expect(journal.task('u', 'accepted', 7)).rejects.toMatchObject({ code: 'Failed' });
    await expect(journal.createdNothing('u', 'refused')).rejects.toMatchObject({ code: 'Failed' });
    await expect(journal.settle('u', 'resolved')).rejects.toMatchObject({ code: 'Failed' });
    expect(await states()).toEqual([`${BOOT}.sending`, `${BOOT}.sending`, `${BOOT}.sending`]);
    expect(journal.entries('u')).toMatchObject([
      { attempt: 'accepted', state: 'task', task: 7 },
      { attempt: 'refused', state: 'minted' },
    ]);
    refused = {};
    expect(await retried(journal)).toBeUndefined();
    expect(await states()).toEqual([`${BOOT}.minted`, `${BOOT}.task-7`]);
  });

  it('restores an attempt after a crash if the disk refused the step that forgets it', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await journal.sending('u', 'a');
    refused = { removing: READ_ONLY };
    await expect(journal.settle('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(journal.entries('u')).toEqual([]);
    await journal.close();
    expect((await open()).entries('u')).toMatchObject([{ attempt: 'a', state: 'sending' }]);
  });

  it('writes a note again that was removed from the folder, and reports the problem until then', async () => {
    const journal = await openHere();
    await journal.minted(attempt('u', 'a'));
    await rm(await notePath());
    await expect(journal.sending('u', 'a')).rejects.toMatchObject({ code: 'Failed' });
    expect(journal.problem).toBe('no such file or directory');
    expect(await retried(journal)).toBeUndefined();
    expect(await states()).toEqual([`${BOOT}.minted`]);
    await journal.sending('u', 'a');
    expect(await states()).toEqual([`${BOOT}.sending`]);
  });

  it('does not open', async () => {
    refused = { writing: FULL };
    await expect(openHere()).rejects.toThrow('no space left on device');
    refused = {};
    await openHere();
  });

  it('stops retrying once the journal is closed', async () => {
    const journal = await openHere();
    refused = { writing: FULL };
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Failed' });
    const last = expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Failed' });
    await journal.close();
    await last;
    expect(timers.pending).toBe(0);
    await expect(journal.minted(attempt('u', 'a'))).rejects.toMatchObject({ code: 'Closed' });
  });

  it('notes the task of an order that is under way when the disk fills up', async () => {
    const { child, answer } = await startProcess('fill');
    expect(answer).toEqual({ failure: 'Failed', problem: 'file too large', unsent: [] });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await states()).map((state) => state.replace(/^[^.]*\./, ''))).toEqual(['minted', 'task-7']);
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
    const journal = await openJournal({ dir });
    opened.push(journal);
    expect(journal.entries('sent')).toMatchObject([{ attempt: 'a1', state: 'sending', own: false }]);
    // Only Linux tells that the machine is still running.
    const proof = { attempt: 'a0', state: 'minted', own: false };
    expect(journal.entries('unsent')).toMatchObject(process.platform === 'linux' ? [proof] : []);
  });

  it('of one folder does not affect another folder', async () => {
    await open();
    await open({ dir: join(base, 'other') });
    await open({ dir: undefined });
  });
});
