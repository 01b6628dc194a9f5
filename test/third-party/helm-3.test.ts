/** docs/how-to/helm.md with Helm 3, and what Helm 3 says of the chart without a cluster. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHART } from '../../tools/chart/main.ts';
import { HELM_BUILD_MS, LEAST, manifestsIn, useHelm, type Helm, type Manifest } from './helm.ts';
import { testReleaseLife } from './release-life.ts';

testReleaseLife('helm3');

let four: Helm;
let three: Helm;
beforeAll(async () => {
  [four, three] = [await useHelm('helm'), await useHelm('helm3')];
}, 2 * HELM_BUILD_MS);
afterAll(() => Promise.all([four.remove(), three.remove()]));

it('lints the chart', async () => {
  expect(await three.run('lint', '--strict', CHART, '--values', LEAST)).toContain(
    '1 chart(s) linted, 0 chart(s) failed',
  );
});

it('renders the same objects as Helm 4', async () => {
  const objects = async (helm: Helm): Promise<Manifest[]> =>
    manifestsIn(await helm.render('--values', LEAST)).toSorted(byName);
  expect(await objects(three)).toEqual(await objects(four));
});

const byName = (a: Manifest, b: Manifest): number => keyOf(a).localeCompare(keyOf(b));
const keyOf = ({ kind, metadata: { name, namespace = '' } }: Manifest): string => `${kind} ${namespace}/${name}`;
