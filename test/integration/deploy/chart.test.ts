/** The generated files of the Helm chart, except its README, which needs helm-docs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { chartFiles, chartYaml, CHART } from '../../../tools/chart/main.ts';

describe('npm run chart', () => {
  it('has generated the files of the chart', async () => {
    for (const [name, text] of Object.entries(await chartFiles(inject('kubectl')))) {
      expect(await readFile(join(CHART, name), 'utf8'), `${name}: run npm run chart`).toBe(text);
    }
  });

  it('tells Artifact Hub about prereleases', async () => {
    expect(parse(await chartYaml('1.2.3-rc.1'))).toMatchObject({
      version: '1.2.3-rc.1',
      annotations: { 'artifacthub.io/prerelease': 'true' },
    });
    expect(await chartYaml('1.2.3')).not.toContain('prerelease');
  });
});
