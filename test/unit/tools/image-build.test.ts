import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
