import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { liveLine, liveScreen } from '../../../src/plugin/screens/live.ts';
import type { Terminal } from '../../../src/plugin/terminal/terminal.ts';

const ESC = '\u001b';
const ERASE = `\r${ESC}[K`;
/** A line, which the terminal must not wrap. */
const line = (text: string): string => `${ERASE}${ESC}[?7l${text}${ESC}[?7h`;
const TEXT = '[######------------------]  25 %  Creating: Installing OS, 25% complete';

/** Both streams of a terminal of this width; `drawn` resets. */
function terminal(columns: number, more: { isTTY?: boolean; isDumb?: boolean } = {}) {
  const { isTTY = true, isDumb = false } = more;
  let text = '';
  const stream = { isTTY, columns, rows: 10, write: (more: string) => void (text += more) };
  const drawn = (): string => {
    const now = text;
    text = '';
    return now;
  };
  return { terminal: { out: stream, err: stream, isDumb } as unknown as Terminal, drawn };
}

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

describe('the line of progress', () => {
  it('turns, and shows the time since the start and the times of the goal', () => {
    const { terminal: on, drawn } = terminal(160);
    const live = liveLine(on, 'web', Date.now);
    expect(drawn()).toBe(`${ESC}[?25l`);
    live.show(TEXT, 'about 48s left, usually 4m');
    expect(drawn()).toBe(line(`⠋ web  ${TEXT}  (0s, about 48s left, usually 4m)`));
    vi.advanceTimersByTime(100);
    expect(drawn()).toContain('⠙ web');
    vi.advanceTimersByTime(149_900);
    drawn();
    live.show(TEXT);
    expect(drawn()).toBe(line(`⠋ web  ${TEXT}  (2m30s)`));
    live.end();
    expect(drawn()).toBe(`${ERASE}${ESC}[?25h`);
    vi.advanceTimersByTime(10_000);
    expect(drawn()).toBe('');
  });

  it('is not drawn before its first text, so that a note has a separate line', () => {
    const { terminal: on, drawn } = terminal(160);
    const live = liveLine(on, 'web', Date.now);
    vi.advanceTimersByTime(10_000);
    expect(drawn()).toBe(`${ESC}[?25l`);
    live.show(TEXT);
    expect(drawn()).toContain('(10s)');
    live.end();
  });

  it.each([20, 40, 80, 100, 120])(
    'never wraps on a terminal of %i columns, and always shows the elapsed time',
    (width) => {
      const { terminal: on, drawn } = terminal(width);
      const live = liveLine(on, 'web', Date.now);
      drawn();
      live.show(TEXT, 'about 48s left, usually 4m');
      const text = stripVTControlCharacters(drawn()).trimStart();
      expect(text.length).toBeLessThan(width);
      expect(text).toMatch(/^⠋ web {2}.*\(0s[,)]/);
      expect(live.isNarrow).toBe(width < 80);
      live.end();
    },
  );

  it.each([{ isTTY: false }, { isDumb: true }])('is a plain line for each change of its text with %j', (how) => {
    const { terminal: on, drawn } = terminal(160, how);
    const live = liveLine(on, 'web', Date.now);
    live.show('Creating: Installing', 'about 48s left');
    live.show('Creating: Installing', 'about 47s left');
    live.show('Available: ready');
    vi.advanceTimersByTime(10_000);
    live.end();
    expect(drawn()).toBe('web  Creating: Installing, about 48s left\nweb  Available: ready\n');
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'shows the cursor again on %s, which then ends the process',
    (signal) => {
      const { terminal: on, drawn } = terminal(160);
      const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
      const before = process.listenerCount(signal);
      const live = liveLine(on, 'web', Date.now);
      drawn();
      process.emit(signal, signal);
      expect(drawn()).toBe(`${ESC}[?25h`);
      expect(kill.mock.calls).toEqual([[process.pid, signal]]);
      expect(process.listenerCount(signal)).toBe(before);
      live.end();
      kill.mockRestore();
    },
  );
});

describe('the screen that is drawn again', () => {
  it('goes back over the rows that wrapped lines took, not counting codes of colors', () => {
    const { terminal: on, drawn } = terminal(10);
    const live = liveScreen(on);
    live.draw([`${ESC}[31m1234567890${ESC}[39m`, '12345678901', '']);
    expect(drawn()).toBe(`${ESC}[?25l${ESC}[31m1234567890${ESC}[39m\n12345678901\n\n`);
    live.draw(['other']);
    expect(drawn()).toBe(`${ESC}[4A${ESC}[Jother\n`);
    live.draw(['other']);
    expect(drawn()).toBe('');
    live.end();
    expect(drawn()).toBe(`${ESC}[?25h`);
  });

  it('takes 80 columns and 24 rows for a terminal that does not know its size', () => {
    const { terminal: on, drawn } = terminal(0);
    Object.assign(on.out, { rows: 0 });
    const live = liveScreen(on);
    live.draw(['x'.repeat(81)]);
    drawn();
    live.draw(['other']);
    expect(drawn()).toBe(`${ESC}[2A${ESC}[Jother\n`);
    live.end();
  });

  it('is never higher than the terminal, and says what is left out', () => {
    const { terminal: on, drawn } = terminal(15);
    const live = liveScreen(on);
    const lines = Array.from({ length: 6 }, (_, index) => `line ${index}`);
    drawn();
    live.draw([...lines, 'a line of two rows', 'a', 'b']);
    expect(drawn().split('\n')).toEqual([...lines, 'a line of two rows', '… 2 more lines', '']);
    live.end();
  });
});
