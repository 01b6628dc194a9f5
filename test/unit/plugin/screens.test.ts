/** What holds for the screen of every state of a server, and for the screen of a set. */
import { describe, expect, it } from 'vitest';
import { Said } from '../../../src/plugin/terminal/said.ts';
import { screen } from '../../../src/plugin/screens/screen.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { setScreen } from '../../../src/plugin/screens/set-screen.ts';
import { planSet } from '../../../src/virtual-server-set/decision/set-plan.ts';
import { groupsOf, situationOf } from '../../../src/virtual-server-set/decision/situation.ts';
import { states } from '../../fixtures/states.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';
import { member, NOW, webSet } from '../../fixtures/virtual-server-set.ts';

const paint = { strong: String, faint: String, good: String, busy: String, bad: String };
const ALL = Object.entries(await states());
/** Shorter ones are words and names, such as `Task 7`. */
const SENTENCE = 25;

/** The sentences that are on the screen more than once. */
function repeated(lines: readonly string[]): string[] {
  const text = lines.join('\n');
  const sentences = text.split(/\n| {2}|[.;:] /).map((sentence) => sentence.trim());
  return sentences.filter(
    (each) => each.length >= SENTENCE && each.includes(' ') && text.indexOf(each) !== text.lastIndexOf(each),
  );
}

describe('what a screen has said', () => {
  it.each([
    ['Server vs1 is running', 'Server vs1 is running', ''],
    ['web-2 is stuck: No answer. Look', 'No answer', ''],
    ['No answer', 'No answer; try again', 'try again'],
    ['Server vs1', 'Server vs10 is running', 'Server vs10 is running'],
    ['Server vs10 is running', 'Server vs1', 'Server vs1'],
    ['', 'No answer', 'No answer'],
  ])('after %j, of %j only %j is new', (earlier, text, fresh) => {
    const said = new Said();
    said.add(earlier);
    expect(said.say(text)).toBe(fresh);
    expect(said.say(text)).toBe('');
  });
});

describe('the screen of a server', () => {
  const shown = (changes: Parameters<typeof storedWith>[0], now = NOW): string =>
    screen({ object: stored('web', storedWith(changes)), events: [], now, where: '', paint }).join('\n');

  /** Events twice, as Kubernetes shows one that repeats. */
  const twice = (events: readonly { reason: string; note: string }[]) =>
    [...events, ...events].map(({ reason, note }) => ({
      reason,
      message: note,
      eventTime: '2026-01-01T00:00:00Z',
    }));
  const isCondition = ({ status }: VirtualServer, text: string): boolean =>
    status?.conditions?.some(({ message }) => message === text) === true;

  it.each(ALL)('says each sentence once: %s', (_, { object, events }) => {
    const told = events.filter(({ note }) => isCondition(object, note));
    expect(repeated(screen({ object, events: twice(told), now: NOW, where: '', paint }))).toEqual([]);
  });

  it.each(ALL)('shows the text of an Event once, if no condition has this text: %s', (_, { object, events }) => {
    const lines = screen({ object, events: twice(events), now: NOW, where: '', paint });
    const shownTexts = lines.flatMap((line) => /^ +24h ago {2}\w+ {2}(.+)$/.exec(line)?.[1] ?? []);
    expect(shownTexts).toEqual(events.map(({ note }) => note).filter((note) => !isCondition(object, note)));
  });

  it.each([
    [1, 4.5, '1 core, RAM 1024  price 4.50'],
    [2, 0.004, '2 cores, RAM 1024  price 0.004'],
  ])('shows %i core(s) and the price %d, and that the units are those of the provider', (cores, price, text) => {
    const specs = { cores, ram: 1024, diskSize: 10240, diskType: 'ssd' };
    expect(shown({ status: { product: 'VPSX4', specs, price } })).toContain(
      `VPSX4, disk 10240 ssd, ${text}  (in the provider's units)`,
    );
    expect(shown({ status: { product: 'VPSX4' } })).not.toContain('units');
  });

  it.each([
    ['running', true],
    ['shut down', false],
    ['Stopped', false],
  ])('names SSH for a server with the status %s: %s', (serverStatus, isShown) => {
    const text = shown({ status: { serverStatus, identifier: 'vs1', ssh: 'root@host -p 2201' } });
    expect(/^SSH /m.test(text)).toBe(isShown);
  });

  it('shows the identifier that the order names', () => {
    expect(shown({ spec: { identifier: 'myown' } })).toMatch(/^Requested +VPSX4, .*, identifier myown$/m);
    expect(shown({})).not.toContain('identifier');
  });

  it('shows when the server expires relative and absolute, and when an order began only relative', () => {
    const expiresAt = '2026-01-04T03:00:00Z';
    expect(shown({ spec: { expiresAt } })).toMatch(/^Expires +in 2d3h \(2026-01-04T03:00:00Z\)$/m);
    expect(shown({ spec: { expiresAt } }, NOW + 4 * 86_400_000)).toMatch(/^Expires +now \(/m);
    const deletionProtection = true;
    const kept = ', but not while spec.deletionProtection is true\n';
    expect(shown({ spec: { expiresAt, deletionProtection } })).toMatch(
      new RegExp(`^Expires +at 2026-01-04T03:00:00Z${kept}`, 'm'),
    );
    expect(shown({ spec: { ttl: '4h', deletionProtection } })).toMatch(
      new RegExp(`^Expires +4h after the server is first ready${kept}`, 'm'),
    );
    const record = { owner: 'uid-of-web', mode: 'create' as const, attempt: 'a1', attemptedAt: '2026-01-01T23:57:30Z' };
    expect(shown({ status: { record } })).toMatch(/^Attempt +a1 {2}started 2m30s ago$/m);
  });
});

describe('the screen of a set', () => {
  it('names every member that needs you, and says each sentence once', () => {
    const set = webSet({ replicas: 8 });
    const why = (ordinal: number): string => `Nobody knows what order number ${ordinal} created`;
    const objects = Array.from({ length: 8 }, (_, ordinal) =>
      member(set, ordinal, ordinal === 3 ? { price: 4.5 } : { reason: 'CreateOutcomeUnknown', message: why(ordinal) }),
    );
    const { status } = planSet(set, { objects, live: true }, NOW);
    const situation = situationOf({ ...set, status }, groupsOf(set, objects), NOW);
    const lines = setScreen({ situation, events: [], where: ' -n team', paint });
    const text = lines.join('\n');
    expect(lines[0]).toBe('set/web, a VirtualServerSet in default, 24h old');
    expect(text).toContain(`web-0 is CreateOutcomeUnknown: ${why(0)}`);
    for (const ordinal of [0, 1, 2, 4, 5, 6, 7]) {
      expect(text).toMatch(new RegExp(`^ {2}web-${ordinal} {2}CreateOutcomeUnknown`, 'm'));
      expect(text).toMatch(new RegExp(`^ {2}kubectl vps \\w+ web-${ordinal} -n team `, 'm'));
    }
    expect(text).not.toMatch(/^ {2}web-3/m);
    expect(repeated(lines)).toEqual([]);
    expect(lines).toContain("prices in the provider's unit");
  });
});
