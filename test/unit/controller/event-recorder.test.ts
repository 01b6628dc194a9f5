import { API_VERSION, SERVER_KIND } from '../../../src/api/names.ts';
import type { EventNote } from '../../../src/controller/conditions.ts';
import { describe, expect, it } from 'vitest';
import { EventRecorder } from '../../../src/controller/event-recorder.ts';
import { KubeError } from '../../../src/kube/error.ts';
import type { Event } from '../../../src/kube/kinds.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { web } from '../../fixtures/decision.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

const note: EventNote = { type: 'Warning', reason: 'InvalidSpec', note: 'no such product' };
const MINUTE_MS = 60_000;

function setUp(answer: () => Promise<void> = () => Promise.resolve()) {
  const timers = new FakeTimers();
  const events: Event[] = [];
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  const create = async (event: Event): Promise<Event> => {
    events.push(event);
    await answer();
    return event;
  };
  const visits = { run: false };
  return { recorder: new EventRecorder({ create }, timers, log, () => visits.run), visits, timers, events, lines };
}

/** Lets time pass in steps, and what waits in between run. */
async function pass(timers: FakeTimers, ms: number): Promise<void> {
  for (let step = 0; step < ms; step += 100) {
    timers.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('EventRecorder', () => {
  it('writes an Event about the object', () => {
    const { recorder, timers, events } = setUp();
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    expect(events).toEqual([
      {
        metadata: { namespace: 'default', generateName: 'web-' },
        eventTime: new Date(timers.now()).toISOString().replace('Z', '000Z'),
        reportingController: 'vps-operator.dev/operator',
        reportingInstance: expect.stringMatching(/^.{1,128}$/) as string,
        regarding: {
          apiVersion: API_VERSION,
          kind: SERVER_KIND,
          namespace: 'default',
          name: 'web',
          uid: 'uid-of-web',
          resourceVersion: '1',
        },
        type: 'Warning',
        reason: 'InvalidSpec',
        action: 'park',
        note: 'no such product',
      },
    ]);
  });

  it('sends a repeated Event only once within ten minutes, and again after that', () => {
    const { recorder, timers, events } = setUp();
    for (let minute = 0; minute <= 10; minute++) {
      recorder.record(SERVER_KIND, web(), 'park', [note]);
      expect(events).toHaveLength(minute < 10 ? 1 : 2);
      timers.advance(MINUTE_MS);
    }
  });

  it('sends an Event again after a change of spec, at most once a second', () => {
    const { recorder, timers, events } = setUp();
    const at = (generation: number) => {
      const object = web();
      object.metadata.generation = generation;
      recorder.record(SERVER_KIND, object, 'switch', [note]);
      return events.length;
    };
    expect([at(1), at(1), at(2)]).toEqual([1, 1, 1]);
    timers.advance(1_000);
    expect([at(2), at(2), at(3)]).toEqual([2, 2, 2]);
    timers.advance(9 * MINUTE_MS);
    expect(at(2)).toBe(2);
    // The last one counts, not the first.
    timers.advance(MINUTE_MS - 1);
    expect(at(2)).toBe(2);
  });

  it('distinguishes Events by object and note', () => {
    const { recorder, events } = setUp();
    const other = web();
    other.metadata.uid = 'another';
    recorder.record(SERVER_KIND, web(), 'park', [note, { ...note, note: 'else' }]);
    recorder.record(SERVER_KIND, other, 'park', [note]);
    expect(events).toHaveLength(3);
  });

  it('remembers a limited number of Events', async () => {
    const { recorder, events } = setUp();
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    for (let index = 0; index < 10_000; index++)
      recorder.record(SERVER_KIND, web(), 'park', [{ ...note, note: `${index}` }]);
    recorder.record(SERVER_KIND, web(), 'park', [{ ...note, note: '9999' }]);
    await recorder.flush();
    expect(events).toHaveLength(10_001);
    // The recorder has forgotten the first Event to make room.
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    expect(events).toHaveLength(10_002);
  });

  it('sends at most three Events at a time, which leaves connections for other writes, and loses none', async () => {
    const answers: (() => void)[] = [];
    const { recorder, events } = setUp(() => new Promise((resolve) => answers.push(resolve)));
    for (let index = 0; index < 20; index++)
      recorder.record(SERVER_KIND, web(), 'park', [{ ...note, note: `${index}` }]);
    expect(events).toHaveLength(3);
    const flushed = recorder.flush();
    while (events.length < 20 || answers.length > 0) {
      expect(answers.length).toBeLessThanOrEqual(3);
      answers.shift()?.();
      await Promise.resolve();
    }
    await flushed;
    expect(events.map((event) => event.note)).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`));
  });

  it('drops the oldest Events while more than 10,000 wait', async () => {
    const { recorder, visits, events, lines } = setUp();
    visits.run = true;
    const notes = Array.from({ length: 10_002 }, (_, index) => ({ ...note, note: `number ${index}` }));
    recorder.record(SERVER_KIND, web(), 'park', notes);
    await recorder.flush();
    expect([events.length, events[0]?.note, events.at(-1)?.note]).toEqual([10_000, 'number 2', 'number 10001']);
    expect(lines.filter((line) => line.includes('dropped an Event'))).toHaveLength(2);
  });

  it('sends an Event after the visits', async () => {
    const { recorder, visits, timers, events } = setUp();
    visits.run = true;
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    await pass(timers, 900);
    expect(events).toEqual([]);
    visits.run = false;
    await pass(timers, 100);
    expect(events).toHaveLength(1);
  });

  it('sends three Events a second, however long visits last', async () => {
    const { recorder, visits, timers, events } = setUp();
    visits.run = true;
    for (let index = 0; index < 10; index++)
      recorder.record(SERVER_KIND, web(), 'park', [{ ...note, note: `${index}` }]);
    await pass(timers, 1_000);
    expect(events).toHaveLength(3);
    await pass(timers, 1_000);
    expect(events).toHaveLength(6);
  });

  describe('an Event that follows another one of its object', () => {
    const ordered: EventNote = { type: 'Normal', reason: 'ServerOrdered', note: 'Ordered a server' };
    const ready: EventNote = { type: 'Normal', reason: 'ServerReady', note: 'It is ready', follows: 'ServerOrdered' };
    const told = (events: readonly Event[]): string[] => events.map((event) => `${event.reason}: ${event.note}`);

    it('joins it while it waits, in its place in the line, with the later time', async () => {
      const { recorder, visits, timers, events } = setUp();
      visits.run = true;
      recorder.record(SERVER_KIND, web(), 'order', [ordered]);
      recorder.record(SERVER_KIND, web(), 'park', [note]);
      const other = web();
      other.metadata.uid = 'another';
      recorder.record(SERVER_KIND, other, 'order', [ordered]);
      timers.advance(300);
      recorder.record(SERVER_KIND, other, 'look', [ready]);
      recorder.record(SERVER_KIND, web(), 'look', [ready]);
      const at = new Date(timers.now()).toISOString().replace('Z', '000Z');
      await recorder.flush();
      expect(told(events)).toEqual([
        'ServerOrdered: Ordered a server',
        'InvalidSpec: no such product',
        'ServerReady: Ordered a server. After 1 s: It is ready',
        // Another Event was recorded in between.
        'ServerReady: It is ready',
      ]);
      expect(events[2]).toMatchObject({ eventTime: at, action: 'look', regarding: { uid: 'another' } });
    });

    it('is sent alone if the other one was sent', async () => {
      const { recorder, events } = setUp();
      recorder.record(SERVER_KIND, web(), 'order', [ordered]);
      recorder.record(SERVER_KIND, web(), 'look', [ready]);
      await recorder.flush();
      expect(told(events)).toEqual(['ServerOrdered: Ordered a server', 'ServerReady: It is ready']);
      expect(events.some((event) => 'follows' in event)).toBe(false);
    });

    it('is sent alone if the API server would not accept the length of both', async () => {
      const { recorder, visits, events } = setUp();
      visits.run = true;
      recorder.record(SERVER_KIND, web(), 'order', [{ ...ordered, note: 'é'.repeat(510) }]);
      recorder.record(SERVER_KIND, web(), 'look', [ready]);
      await recorder.flush();
      expect(events).toHaveLength(2);
    });
  });

  it('lets no Event wait for visits once it is to finish', async () => {
    const { recorder, visits, events } = setUp();
    visits.run = true;
    for (let index = 0; index < 10; index++)
      recorder.record(SERVER_KIND, web(), 'park', [{ ...note, note: `${index}` }]);
    await recorder.flush();
    expect(events).toHaveLength(10);
  });

  it('continues after the API server refuses an Event, as in a terminating namespace', async () => {
    const { recorder, lines } = setUp(() => Promise.reject(new KubeError('Forbidden', 'namespace is terminating')));
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    await recorder.flush();
    expect(lines.join()).toContain('failed to write an Event');
  });

  it('finishes the flush when the API server has answered every Event', async () => {
    const answers: (() => void)[] = [];
    const { recorder } = setUp(() => new Promise((resolve) => answers.push(resolve)));
    recorder.record(SERVER_KIND, web(), 'park', [note]);
    let flushed = false;
    const flush = recorder.flush().then(() => (flushed = true));
    await Promise.resolve();
    expect(flushed).toBe(false);
    for (const answer of answers) answer();
    await flush;
    expect(flushed).toBe(true);
  });
});
