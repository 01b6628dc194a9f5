/**
 * `npm run test:sim -- --lives N --seed S`: simulates seed after seed until N lives are over; `--replay SEED` shows one, step by step;
 * `--until-violation` ends with the first.
 */
import { parseArgs } from 'node:util';
import { run } from './run.ts';

const { values } = parseArgs({
  options: {
    lives: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    replay: { type: 'string' },
    'until-violation': { type: 'boolean' },
  },
});

if (values.replay === undefined) await search();
else {
  const { trace, violations } = await run({ seed: Number(values.replay), trace: true });
  process.stdout.write(`${trace.join('\n')}\n${violations.map((violation) => `VIOLATION ${violation}`).join('\n')}\n`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}

async function search(): Promise<void> {
  const first = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
  const wanted = Number(values.lives);
  const startedAt = performance.now();
  const total = { lives: 0, creates: 0, crashes: 0, events: 0, runs: 0, failed: 0 };
  process.stdout.write(`simulation: seed ${first}, ${wanted} lives\n`);
  const goesOn = (): boolean => total.lives < wanted && !(values['until-violation'] === true && total.failed > 0);
  for (let seed = first; goesOn(); seed++) {
    const result = await run({ seed });
    total.runs += 1;
    for (const key of ['lives', 'creates', 'crashes', 'events'] as const) total[key] += result[key];
    if (result.violations.length === 0) continue;
    total.failed += 1;
    process.stdout.write(`seed ${seed}:\n${result.violations.map((violation) => `  ${violation}\n`).join('')}`);
    process.stdout.write(`  replay: npm run test:sim -- --replay ${seed}\n`);
  }
  const minutes = (performance.now() - startedAt) / 60_000;
  process.stdout.write(
    `${total.lives} lives (${total.creates} servers, ${total.crashes} crashes, ${total.events} events) in ${total.runs} runs, ` +
      `${Math.round(total.lives / minutes)} lives per minute, ${total.failed} runs with violations\n`,
  );
  process.exitCode = total.failed === 0 ? 0 : 1;
}
