/** What Argo CD, Flux and kstatus report for every state, according to their own libraries. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { web } from '../fixtures/decision.ts';
import { customization, JUDGED, KINDS } from '../../tools/gitops.ts';
import { buildJudge, judge, type Judgement } from './judge.ts';

const BUILD_MS = 20 * 60_000;

const ALL = KINDS.flatMap((kind) =>
  Object.entries(JUDGED[kind].verdicts).map(([name, verdict]) => [`${kind} ${name}`, verdict] as const),
);

let judgements: Record<string, Judgement>;
beforeAll(async () => {
  await buildJudge();
  const objects = KINDS.flatMap((kind) =>
    Object.entries(JUDGED[kind].objects()).map(([name, object]) => [`${kind} ${name}`, object] as const),
  );
  judgements = await judge(Object.fromEntries(objects));
}, BUILD_MS);

describe.each(ALL)('%s', (name, verdict) => {
  it(`is ${verdict.argo} in Argo CD`, () => expect(judgements[name]?.argo.status).toBe(verdict.argo));
  it(`is ${verdict.flux} in Flux`, () => expect(judgements[name]?.flux).toBe(verdict.flux));
  it(`is ${verdict.kstatus} in kstatus`, () => expect(judgements[name]?.kstatus).toBe(verdict.kstatus));
});

describe('an object without conditions', () => {
  const judged = async (status: object | undefined): Promise<Judgement | undefined> =>
    (await judge({ bare: { ...web(), status } })).bare;
  const waiting = {
    status: 'Progressing',
    message: 'The operator has not reported on this object yet. If this persists, check that the operator runs.',
  };

  it('is in progress even if its generation counts as observed, although kstatus reports it as current', async () => {
    const judgement = await judged({ observedGeneration: 1 });
    expect(judgement).toMatchObject({ argo: waiting, flux: 'InProgress', kstatus: 'Current' });
  });

  it('is never healthy without a status, although the API server always sets one', async () => {
    const { argo, flux } = (await judged(undefined)) ?? {};
    expect(argo?.status).toBe('Progressing');
    expect(flux).toMatch(/^Unknown: no such attribute/);
  });
});

describe.each(KINDS)('health_test.yaml of %s', (kind) => {
  it('passes when it is run as Argo CD runs its own tests', async () => {
    const read = async (path: string): Promise<unknown> =>
      parse(await readFile(join(customization(kind), path), 'utf8'));
    const { tests } = (await read('health_test.yaml')) as { tests: { inputPath: string; healthStatus: object }[] };
    const objects = await Promise.all(tests.map(async ({ inputPath }) => [inputPath, await read(inputPath)] as const));
    const found = await judge(Object.fromEntries(objects));
    expect(tests.length).toBe(Object.keys(JUDGED[kind].verdicts).length);
    for (const { inputPath, healthStatus } of tests) expect(found[inputPath]?.argo, inputPath).toEqual(healthStatus);
  });
});
