import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { imageName, ROOT, withoutBuildKit } from '../../../tools/image-build.ts';

const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');

/** The instructions of each stage, by its name. */
const stages = Object.fromEntries(
  dockerfile.split(/^FROM /m).map((text) => [/ AS (\w+)\n/.exec(text)?.[1] ?? '', text] as const),
);

describe('the Dockerfile', () => {
  it('puts only the operator into its image, and the simulator into a separate image', () => {
    const bundles = (stage: string): string[] =>
      [...(stages[stage] ?? '').matchAll(/dist\/(\S+\.js)\b(?!on)/g)].map(([, name = '']) => name);
    expect(bundles('operator')).toEqual(['operator.js']);
    expect(bundles('simulator')).toEqual(['simulator.js']);
    expect(bundles('base')).toEqual([]);
  });

  it('builds the operator if no target is named', () => {
    expect(Object.keys(stages).at(-1)).toBe('operator');
  });

  it('names no platform for the classic builder, which knows no BUILDPLATFORM, and is otherwise the same', () => {
    const classic = withoutBuildKit(dockerfile);
    expect(classic).not.toMatch(/^FROM --platform|\$\{?(BUILD|TARGET)PLATFORM/m);
    expect(classic.replace(/^FROM (?=\$\{BUILD_IMAGE\})/m, 'FROM --platform=$BUILDPLATFORM ')).toBe(dockerfile);
  });
});

it('names an image for each target', async () => {
  expect(await imageName()).toMatch(/\/vps-operator:\d/);
  expect(await imageName('simulator')).toMatch(/\/vps-operator-simulator:\d/);
});

describe('npm run image', () => {
  /**
   * With a docker in PATH that only records what it is called with: one line for each build, and the Dockerfile of the last
   * one that names it.
   */
  async function build(hasBuildx: boolean): Promise<{ builds: string[]; file: string | undefined }> {
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-docker-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const docker = `#!/bin/sh
case $1 in
  buildx) exit ${hasBuildx ? 0 : 1} ;;
  build)
    echo "\${DOCKER_BUILDKIT-default} $*" >> '${folder}/builds'
    while [ $# -gt 0 ]; do
      if [ "$1" = --file ]; then cp "$2" '${folder}/Dockerfile'; fi
      shift
    done ;;
esac
`;
    await writeFile(join(folder, 'docker'), docker, { mode: 0o755 });
    const { DOCKER_BUILDKIT: _, ...ours } = process.env;
    const env = { ...ours, PATH: `${folder}${delimiter}${ours['PATH']}` };
    await promisify(execFile)(process.execPath, [join(ROOT, 'tools/image.ts'), '--pull'], { env });
    const builds = (await readFile(join(folder, 'builds'), 'utf8')).trim().split('\n');
    const file = await readFile(join(folder, 'Dockerfile'), 'utf8').catch(() => undefined);
    return { builds, file };
  }

  it('builds both images with the classic builder, and a Dockerfile for it, if there is no buildx', async () => {
    const { builds, file } = await build(false);
    expect(builds).toEqual([
      expect.stringMatching(/^0 build .*--target operator .*--file \S+ --pull /),
      expect.stringMatching(/^0 build .*--target simulator .*--file \S+ --pull /),
    ]);
    expect(file).toBe(withoutBuildKit(dockerfile));
  });

  it('leaves it to Docker how to build the Dockerfile of the repository if there is buildx', async () => {
    const { builds, file } = await build(true);
    expect(builds).toEqual([
      expect.stringMatching(/^default build .*--target operator .*--pull /),
      expect.stringMatching(/^default build .*--target simulator .*--pull /),
    ]);
    expect(builds.join(' ')).not.toContain('--file');
    expect(file).toBeUndefined();
  });
});
