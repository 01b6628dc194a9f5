/**
 * The lines of the journal's file, one JSON object each: either a whole entry in its new state, or an attempt to
 * forget. Each line is complete without the others, so their order never makes a file unreadable.
 */
import * as z from 'zod';
import { Attempts, type JournalEntry } from './attempts.ts';
import { JournalError } from './error.ts';

const word = z.string().min(1);

// Strict: a line with more fields comes from another version, and rewriting the file would lose them.
const entryLine = z
  .strictObject({
    namespace: word,
    name: word,
    uid: word,
    attempt: word,
    account: word.optional(),
    mintedAt: z.iso.datetime().optional(),
    state: z.enum(['minted', 'sending', 'task']),
    task: z.int().min(0).optional(),
  })
  .refine((line) => (line.state === 'task') === (line.task !== undefined), 'task does not fit the state');
const forgetLine = z.strictObject({ forget: word, uid: word });
const journalLine = z.union([entryLine, forgetLine]);
type JournalLine = z.infer<typeof journalLine>;

export function formatEntry(entry: JournalEntry): string {
  const { namespace, name, uid, attempt, account, mintedAt, state, task } = entry;
  const line: JournalLine = { namespace, name, uid, attempt, account, mintedAt, state, task };
  return `${JSON.stringify(line)}\n`;
}

export function formatForget(entry: JournalEntry): string {
  const line: JournalLine = { forget: entry.attempt, uid: entry.uid };
  return `${JSON.stringify(line)}\n`;
}

export interface Replay {
  attempts: Attempts;
  /** Length of a last line that a crash cut short. Its write was never confirmed, so nothing was done because of it. */
  tornLength: number;
}

/**
 * Reads the text of a journal file. Throws a JournalError `Corrupt` that names the line; `file` is only for its
 * message.
 */
export function replay(text: string, file: string): Replay {
  const attempts = new Attempts();
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  for (const [index, line] of lines.entries()) {
    const parsed = parseLine(line);
    if (!parsed.ok) throw corrupt(file, index + 1, parsed.problem);
    apply(attempts, parsed.line);
  }
  if (last === '') return { attempts, tornLength: 0 };
  // If only the line end is missing, the line is complete and counts.
  const parsed = parseLine(last);
  if (!parsed.ok) return { attempts, tornLength: last.length };
  apply(attempts, parsed.line);
  return { attempts, tornLength: 0 };
}

function parseLine(line: string): { ok: true; line: JournalLine } | { ok: false; problem: string } {
  // Bytes that are not UTF-8 decode to this character, which no valid line contains.
  if (line.includes('\uFFFD')) return { ok: false, problem: 'it is not UTF-8' };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { ok: false, problem: 'it is not JSON' };
  }
  const parsed = journalLine.safeParse(value);
  return parsed.success
    ? { ok: true, line: parsed.data }
    : { ok: false, problem: 'it is not an entry of this version' };
}

function apply(attempts: Attempts, line: JournalLine): void {
  if ('forget' in line) {
    attempts.delete(line.uid, line.forget);
    return;
  }
  const { account, mintedAt, task, ...rest } = line;
  attempts.put({
    ...rest,
    ...(account === undefined ? {} : { account }),
    ...(mintedAt === undefined ? {} : { mintedAt }),
    ...(task === undefined ? {} : { task }),
    own: false,
  });
}

function corrupt(file: string, line: number, problem: string): JournalError {
  const advice = 'It may know of servers that nothing else knows of: look at it before you repair or remove it.';
  return new JournalError('Corrupt', `journal ${file}, line ${line}: ${problem}. ${advice}`);
}
