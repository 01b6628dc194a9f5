/** What users cannot have before the first release: the pages and examples that take something from a release say so. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../../tools/image-build.ts';
import { versionedFiles } from '../../../tools/release/version.ts';

/** A tag, a file, the chart or the plugin of a release. */
const FROM_A_RELEASE =
  /[?&]ref=v\d|\/releases\/|gh release download|oci:\/\/ghcr\.io\/vps-operator|release\.md#the-files/;
const NOTE = /a release\s+is\s+published/;

it('is named as missing in each file that takes it from a release, until there is one', async () => {
  const isReleased = /^## \[\d/m.test(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'));
  const texts = await Promise.all(
    (await versionedFiles()).map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  );
  const taking = texts.filter(({ text }) => FROM_A_RELEASE.test(text)).map(({ path }) => path);
  const noting = texts.filter(({ text }) => NOTE.test(text)).map(({ path }) => path);
  expect(taking).toContain('docs/how-to/kustomize.md');
  expect(isReleased ? noting : taking.filter((path) => !noting.includes(path))).toEqual([]);
});
