/**
 * `npm run test:lives -- --lives N --seed S`: simulates one seed after another until N lives have ended. `--replay SEED`
 * shows one run step by step; `--until-violation` stops at the first violation; with `--with-versions`, other versions of the
 * operator run in every world. The last line is `N passed, N failed` and counts runs.
 */
import { parseArgs } from 'node:util';
import { run, type RunOptions, type RunResult } from './run.ts';

/** Number of lives that counts as 100 % in the summary; the seeds themselves never run out. */
const WHOLE = 100_000;

const { values } = parseArgs({
  options: {
    lives: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    replay: { type: 'string' },
    'until-violation': { type: 'boolean' },
    'with-versions': { type: 'boolean', default: false },
  },
});

const withVersions = values['with-versions'];
const flag = withVersions ? '--with-versions ' : '';

/** Unhandled promise rejections; they would kill a real operator. */
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(`unhandled rejection: ${String(reason)}`));

if (values.replay === undefined) await search();
else {
  const { trace, violations } = await watched({ seed: Number(values.replay), trace: true, withVersions });
  process.stdout.write(`${trace.join('\n')}\n${violations.map((violation) => `VIOLATION ${violation}`).join('\n')}\n`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}

async function search(): Promise<void> {
  // Stack traces are never printed here, and creating them is half the cost of an error.
  Error.stackTraceLimit = 0;
  const first = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
  const wanted = Number(values.lives);
  const startedAt = performance.now();
  const total = {
    lives: 0,
    creates: 0,
    priced: 0,
    listed: 0,
    hourly: 0,
    changed: 0,
    stopped: 0,
    pricedChanges: 0,
    compared: 0,
    outdated: 0,
    refused: 0,
    named: 0,
    repeated: 0,
    held: 0,
    tooLate: 0,
    ofFailed: 0,
    requests: 0,
    repeats: 0,
    crashes: 0,
    events: 0,
    runs: 0,
    failed: 0,
  };
  const versions = { forgotten: 0, upgrades: 0, downgrades: 0, left: 0 };
  const members: NonNullable<RunResult['members']> = {
    created: 0,
    deleted: 0,
    adopted: 0,
    released: 0,
    updated: 0,
    changed: 0,
  };
  say(`simulation: seed ${first}, ${wanted} lives`);
  const drawn = new Map<string, number>();
  const goesOn = (): boolean => total.lives < wanted && !(values['until-violation'] === true && total.failed > 0);
  for (let seed = first; goesOn(); seed++) {
    const result = await watched({ seed, withVersions });
    total.runs += 1;
    for (const key of [
      'lives',
      'creates',
      'priced',
      'listed',
      'hourly',
      'changed',
      'stopped',
      'pricedChanges',
      'compared',
      'outdated',
      'refused',
      'named',
      'repeated',
      'held',
      'tooLate',
      'ofFailed',
      'requests',
      'repeats',
      'crashes',
      'events',
    ] as const)
      total[key] += result[key];
    for (const key of ['forgotten', 'upgrades', 'downgrades', 'left'] as const) versions[key] += result[key];
    for (const name of result.variants) drawn.set(name, (drawn.get(name) ?? 0) + 1);
    for (const [what, count] of Object.entries(result.members ?? {})) members[what as keyof typeof members] += count;
    if (result.violations.length === 0) continue;
    total.failed += 1;
    say(`seed ${seed}:`, ...result.violations.map((violation) => `  ${violation}`));
    say(`  replay: npm run test:lives -- ${flag}--replay ${seed}`);
  }
  const minutes = (performance.now() - startedAt) / 60_000;
  const { lives, creates, priced, listed, hourly, refused, crashes, events, runs, failed } = total;
  const share = ((100 * lives) / WHOLE).toFixed(1);
  say(`ran ${lives} lives (${share} % of ${WHOLE}), seed ${first}, ${Math.round(lives / minutes)} lives a minute`);
  say(
    `${creates} servers, ${priced} of them ordered within a limit in money (${listed} by the list of prices), ${hourly} after orders of an earlier process within the hour, ${refused} refused writes judged, ${crashes} crashes, ${events} events in ${runs} runs, ${failed} of them with violations`,
  );
  say(
    `${total.changed} changes of servers in place, ${total.pricedChanges} requests for them judged by a limit in money, and ${total.stopped} shutdowns; ${total.compared} servers with user data of a Secret or ConfigMap, ${total.outdated} of them ordered with another one than it has`,
  );
  const { named, repeated, held, tooLate, ofFailed, requests, repeats } = total;
  say(
    `orders under an identifier: ${requests} requests, ${repeats} of them repeats; ${named} accepted, ${repeated} of them accepted again, ${held} after a proxy had held them back, ${tooLate} of those too late to be found; ${ofFailed} under the identifier of a failed order of another object`,
  );
  say(`worlds in which ${[...drawn].map(([name, count]) => `${name}: ${count}`).join('; ')}`);
  const { forgotten, upgrades, downgrades, left } = versions;
  say(
    `${forgotten} crashes lost nothing but memory; ${upgrades} upgrades from format 1 of the record, which left ${left} doubts and questions to conditions, ${downgrades} downgrades to it`,
  );
  say(
    `members of sets: ${Object.entries(members)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}`,
  );
  say(`${runs - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && runs > 0 ? 0 : 1;
}

async function watched(options: RunOptions): Promise<RunResult> {
  unhandled.length = 0;
  const result = await run(options);
  // Node reports unhandled rejections once the microtask queue is empty.
  await new Promise((resolve) => setImmediate(resolve));
  return { ...result, violations: [...result.violations, ...new Set(unhandled)] };
}

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
