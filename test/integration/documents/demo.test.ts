/** `npm run demo` in a pipe; test/exhaustive keeps it running, stops it early, and runs it on a terminal. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { blocksOf, patternOf, steady } from '../support/document.ts';
import { startNode } from '../support/program.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DEMO = join(ROOT, 'tools/demo/main.ts');
/** A demo takes about 15 s, and took 147 s at a load of ten per core; this is only an upper bound. */
vi.setConfig({ testTimeout: 480_000 });

describe('the demo', () => {
  it("shows a server's whole life in order, as printed in docs/getting-started.md, and exits with 0", async () => {
    const demo = startNode([DEMO]);
    expect(await demo.ended).toBe(0);
    const text = demo.stdout.join('\n');
    const story = [
      'starting a simulated provider',
      'the CRDs and the guards are installed',
      '$ kubectl wait --for=condition=Ready vpscat/catalog',
      '$ kubectl vps catalog',
      'cloudinit-ubuntu-noble.raw.gz    Ubuntu 24.04 LTS (noble)',
      '$ kubectl apply -f server.yaml',
      'web  [',
      'web is ready',
      '$ kubectl vps status web',
      'Ready: Available',
      '$ kubectl vps cost',
      'default     1         1018.00',
      '$ kubectl vps protect web',
      'denied request: spec.deletionProtection is true',
      '(exit code 1)',
      '$ kubectl vps unprotect web',
      '"web" deleted',
      'provider: created vs1001, cancelled vs1001, still running none',
    ];
    const places = story.map((part) => text.indexOf(part));
    expect(places, text).toEqual(places.filter((place) => place >= 0).sort((a, b) => a - b));
    expect(places).toHaveLength(story.length);
    const page = await readFile(join(ROOT, 'docs/getting-started.md'), 'utf8');
    const [block = { language: '', text: '' }] = blocksOf(page, 'Try it without an account');
    expect(steady(`$ npm run demo\n${text}\n`)).toMatch(patternOf(block.text));
    expect(text).not.toContain('\u001b');
    expect(demo.stderr).toEqual([]);
  });

  it.each([
    [['--kep'], "'--kep'"],
    [['--api', 'other'], '--api must be one of documented, public'],
  ])('reports wrong flags in one line and exits with 2: %j', async (flags, words) => {
    const demo = startNode([DEMO, ...flags]);
    expect(await demo.ended).toBe(2);
    expect(demo.stderr).toEqual([expect.stringContaining(words)]);
  });

  it('reports why it cannot start and exits with 1', async () => {
    const demo = startNode([DEMO], { env: { ...process.env, KUBEBUILDER_ASSETS: '/nowhere' } });
    expect(await demo.ended).toBe(1);
    expect(demo.stderr).toEqual([expect.stringContaining('KUBEBUILDER_ASSETS is /nowhere')]);
  });
});
