/** The site of the documentation: its pages, its links, and several versions side by side. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../../tools/image-build.ts';
import { siteLink } from '../../../tools/site/links.ts';
import { PAGES } from '../../../tools/site/pages.ts';
import { serveSite } from '../../../tools/site/serve.ts';
import { sortVersions, writeRoot } from '../../../tools/site/versions.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-site-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A folder as `npm run site` writes it, for several versions. */
async function siteOf(...versions: string[]): Promise<string> {
  const folder = join(await temporaryFolder(), 'site');
  await mkdir(folder);
  for (const version of versions) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'index.html'), `home of ${version}`);
    await writeFile(join(folder, version, '404.html'), `${version} does not have this page`);
  }
  return folder;
}

it('the sidebar has each page of docs/ once (a new page needs a row in tools/site/pages.ts)', async () => {
  const inDocs = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'));
  const atRoot = (await readdir(ROOT)).filter((name) => name.endsWith('.md'));
  expect([...PAGES].sort()).toEqual([...atRoot, ...inDocs.map((name) => `docs/${name}`)].sort());
});

describe('a link', () => {
  const link = (href: string, page: string) => siteLink(href, page, ROOT, 'https://example.org/blob/v1.2.3');

  it.each([
    ['faq.md', 'docs/getting-started.md', 'faq.md'],
    ['../reference/reasons.md#pending', 'docs/how-to/ssh.md', '../reference/reasons.md#pending'],
    ['docs/faq.md', 'README.md', 'docs/faq.md'],
    ['../README.md#install', 'docs/faq.md', '../index.md#install'],
    ['#install', 'README.md', '#install'],
    ['https://kind.sigs.k8s.io', 'README.md', 'https://kind.sigs.k8s.io'],
    ['mailto:you@example.org', 'README.md', 'mailto:you@example.org'],
    ['LICENSE', 'README.md', 'https://example.org/blob/v1.2.3/LICENSE'],
    [
      '../../examples/sets/web.yaml',
      'docs/how-to/server-set.md',
      'https://example.org/blob/v1.2.3/examples/sets/web.yaml',
    ],
  ])('to %s in %s is %s', (href, page, expected) => {
    expect(link(href, page)).toBe(expected);
  });

  it('to a file that does not exist is an error that names both', () => {
    expect(() => link('../nope.yaml', 'docs/faq.md')).toThrow(
      'docs/faq.md links to ../nope.yaml, which does not exist',
    );
  });
});

describe('several versions', () => {
  it('are sorted by number, a prerelease before its release', () => {
    const versions = ['0.9.0', '0.10.0-rc.2', '1.0.0-alpha', '0.10.0', '0.10.0-rc.10', '0.2.11'];
    const sorted = ['1.0.0-alpha', '0.10.0', '0.10.0-rc.10', '0.10.0-rc.2', '0.9.0', '0.2.11'];
    expect(sortVersions(versions)).toEqual(sorted);
  });

  it('are listed for the menu, and the newest release comes first, not a prerelease', async () => {
    const site = await siteOf('0.9.0', '0.10.0', '0.11.0-rc.1');
    expect(await writeRoot(site)).toBe('0.10.0');
    expect(JSON.parse(await readFile(join(site, 'versions.json'), 'utf8'))).toEqual(['0.11.0-rc.1', '0.10.0', '0.9.0']);
    expect(await readFile(join(site, 'index.html'), 'utf8')).toContain('url=0.10.0/');
    expect(await readFile(join(site, '404.html'), 'utf8')).toContain('0.10.0');
  });

  it('show a prerelease first if there is no release, and are an error if there is none', async () => {
    expect(await writeRoot(await siteOf('0.1.0-rc.1', '0.1.0-rc.2'))).toBe('0.1.0-rc.2');
    await expect(writeRoot(await siteOf())).rejects.toThrow('contains no version: run npm run site');
  });
});

it('the server serves only the site, and its own page for what does not exist', async () => {
  const site = await siteOf('0.1.0');
  await writeRoot(site);
  await writeFile(join(site, '..', 'outside-of-the-site.html'), '');
  const { server, url } = await serveSite(site, '/docs/');
  onTestFinished(() => server[Symbol.asyncDispose]());
  const get = async (path: string): Promise<[number, string]> => {
    const response = await fetch(`${url}${path}`);
    return [response.status, await response.text()];
  };
  expect(await get('0.1.0/')).toEqual([200, 'home of 0.1.0']);
  expect(await get('0.1.0/nope.html')).toEqual([404, '0.1.0 does not have this page']);
  expect(await get('..%2foutside-of-the-site.html')).toEqual([404, '0.1.0 does not have this page']);
  expect(await get('%ff')).toEqual([404, '0.1.0 does not have this page']);
});
