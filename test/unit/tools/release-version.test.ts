/** `npm run release:version` finds every place that names the version, and no version of anything else. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, version } from '../../../tools/image-build.ts';
import { versionedFiles, withVersion } from '../../../tools/release/version.ts';

const NEXT = '97.98.99';
const current = await version();
const texts = await Promise.all(
  (await versionedFiles()).map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
);

describe('the version of the project', () => {
  it('is replaced wherever the files name it', () => {
    const left = texts
      .map(({ path, text }) => ({ path, text: withVersion(text, current, NEXT) }))
      .flatMap(({ path, text }) =>
        text
          .split('\n')
          .filter((line) => line.split(/[^\w.-]/).some((word) => word.replace(/^v/, '') === current))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(left).toEqual([]);
  });

  it('is in the manifests, in the chart, and in the documents that copy image names', () => {
    const changed = texts.filter(({ text }) => withVersion(text, current, NEXT) !== text).map(({ path }) => path);
    expect(changed).toEqual(
      expect.arrayContaining([
        'deploy/install.yaml',
        'deploy/manifests/base/deployment.yaml',
        'deploy/manifests/overlays/demo/simulator.yaml',
        'docs/how-to/install.md',
      ]),
    );
  });

  it.each([
    ['image: ghcr.io/vps-operator/vps-operator:1.2.3', 'image: ghcr.io/vps-operator/vps-operator:9.0.0'],
    ['image: vps-operator-simulator:1.2.3@sha256:ab', 'image: vps-operator-simulator:9.0.0@sha256:ab'],
    ['vps-operator-1.2.3.tgz', 'vps-operator-9.0.0.tgz'],
    ['kubectl-vps-1.2.3-linux-amd64.tar.gz', 'kubectl-vps-9.0.0-linux-amd64.tar.gz'],
    ['vps-operator//deploy/manifests/base?ref=v1.2.3', 'vps-operator//deploy/manifests/base?ref=v9.0.0'],
    ['/releases/download/v1.2.3/install.yaml', '/releases/download/v9.0.0/install.yaml'],
    [
      'oci://ghcr.io/vps-operator/charts/vps-operator --version 1.2.3',
      'oci://ghcr.io/vps-operator/charts/vps-operator --version 9.0.0',
    ],
    ['app.kubernetes.io/version: "1.2.3"', 'app.kubernetes.io/version: "9.0.0"'],
    ['![AppVersion: 1.2.3](…/badge/AppVersion-1.2.3-info)', '![AppVersion: 9.0.0](…/badge/AppVersion-9.0.0-info)'],
    ['{"level":"info","version":"1.2.3"}', '{"level":"info","version":"9.0.0"}'],
    ['name: vps-operator\nversion: 1.2.3\nappVersion: 1.2.3', 'name: vps-operator\nversion: 9.0.0\nappVersion: 9.0.0'],
  ])('is recognized in %j', (text, expected) => {
    expect(withVersion(text, '1.2.3', '9.0.0')).toBe(expected);
  });

  it.each(['node:1.2.3-slim', 'apiVersion: v1.2.3', 'vps-operator:1.2.34', '  version: 1.2.3', 'vps-operator:1.203'])(
    'is not seen in %j',
    (text) => {
      expect(withVersion(text, '1.2.3', '9.0.0')).toBe(text);
    },
  );
});
