/** The site of the documentation, built as for a release, in a real browser. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BASE, buildSite } from '../../tools/site/build.ts';
import { PAGES, routeOf } from '../../tools/site/pages.ts';
import { reportSkipped } from '../../tools/skipped.ts';
import { serveSite } from '../../tools/site/serve.ts';
import { writeRoot } from '../../tools/site/versions.ts';

/** Of Debian, and of GitHub's runners. */
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = BROWSERS.find((path) => existsSync(path));
const hasChromium = executablePath !== undefined;
if (!hasChromium)
  reportSkipped('the tests of the site in a browser', `there is no ${BROWSERS.join(', and no ')} (package chromium)`);

const EARLIER = '0.0.1';
const NARROW = { width: 400, height: 800 };
const WIDE = { width: 1280, height: 900 };
/** Tabs that load pages at the same time. */
const TABS = 4;

/** Address of the folder with all versions, and of this version in it. */
let root: string;
let home: string;
let browser: Browser;
const closers: (() => Promise<unknown>)[] = [];

async function start(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-site-'));
  closers.push(() => rm(folder, { recursive: true }));
  await buildSite(folder);
  // In place of the site of an earlier release, which lacks most pages.
  await mkdir(join(folder, EARLIER, 'docs'), { recursive: true });
  for (const page of ['index.html', 'docs/faq.html']) await writeFile(join(folder, EARLIER, page), '');
  const version = await writeRoot(folder);
  const { server, url } = await serveSite(folder, BASE);
  closers.push(() => server[Symbol.asyncDispose]());
  root = url;
  home = `${root}${version}/`;
  browser = await chromium.launch({ executablePath });
  closers.push(() => browser.close());
}

const addressOf = (page: string): string => home + routeOf(page).replace(/\.md$/, '.html');

/** A new page whose errors and requests are recorded. */
async function openTab(size = WIDE): Promise<{ page: Page; errors: string[]; requests: Set<string> }> {
  const context = await browser.newContext({ viewport: size, colorScheme: 'light' });
  const page = await context.newPage();
  const errors: string[] = [];
  const requests = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => errors.push(`${page.url()}: ${error.message}`));
  page.on('request', (request) => requests.add(request.url()));
  return { page, errors, requests };
}

// Expressions for the browser are text, because their types would need those of a browser in the whole project.

/** Whether Vue has taken over the page, and drawn its diagrams. */
const IS_SHOWN = `'__vue_app__' in document.querySelector('#app') && document.querySelector('.diagram-source') === null`;

interface Inspection {
  headings: number;
  missingPictures: string[];
  width: number;
  ids: string[];
  /** To other places of the site, as absolute addresses. */
  links: string[];
}
const INSPECTION = `({
  headings: document.querySelectorAll('main h1').length,
  missingPictures: [...document.images].filter((one) => one.naturalWidth === 0).map((one) => one.src),
  width: document.documentElement.scrollWidth,
  ids: [...document.querySelectorAll('[id]')].map((one) => one.id),
  links: [...document.querySelectorAll('a[href]')].map((one) => one.href).filter((href) => href.startsWith(location.origin)),
})`;

describe.skipIf(!hasChromium)('the site', () => {
  beforeAll(start);
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });

  it('opens every page at 400 px without an error, a request to another host or a horizontal scroll bar', async () => {
    const tooWide: string[] = [];
    const errors: string[] = [];
    const elsewhere: string[] = [];
    const ids = new Map<string, Set<string>>();
    const links = new Map<string, string>();
    const waiting = [...PAGES];
    async function visit(): Promise<void> {
      const tab = await openTab(NARROW);
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        await tab.page.goto(addressOf(name));
        await tab.page.waitForFunction(IS_SHOWN);
        const found = await tab.page.evaluate<Inspection>(INSPECTION);
        expect(found, name).toMatchObject({ headings: 1, missingPictures: [] });
        if (found.width > NARROW.width) tooWide.push(`${name}: ${found.width} px`);
        ids.set(addressOf(name), new Set(found.ids));
        for (const link of found.links) links.set(link, name);
      }
      errors.push(...tab.errors);
      elsewhere.push(...[...tab.requests].filter((url) => !url.startsWith(root) && !url.startsWith('data:')));
    }
    await Promise.all(Array.from({ length: TABS }, visit));
    expect(errors).toEqual([]);
    expect(tooWide).toEqual([]);
    expect(elsewhere).toEqual([]);

    ids.set(home, ids.get(addressOf('README.md')) ?? new Set());
    const broken = [...links].filter(([link]) => {
      const [address = '', anchor] = link.split('#');
      const there = ids.get(address);
      return there === undefined || (anchor !== undefined && !there.has(decodeURIComponent(anchor)));
    });
    expect(broken).toEqual([]);
    expect(links.size).toBeGreaterThan(PAGES.length);
  });

  it('leads from the root to the newest version', async () => {
    const { page } = await openTab();
    await page.goto(root);
    await page.waitForURL(home);
  });

  it.each([
    ['to the same page', 'docs/faq.md', 'docs/faq.html'],
    ['to its first page if it lacks this one', 'docs/how-to/ssh.md', ''],
  ])('leads to another version: %s', async (_, from, to) => {
    const { page } = await openTab();
    await page.goto(addressOf(from));
    const menu = page.locator('.version-menu select:visible');
    await expect.poll(() => menu.locator('option').allTextContents()).toEqual([home.slice(root.length, -1), EARLIER]);
    await menu.selectOption(EARLIER);
    await page.waitForURL(`${root}${EARLIER}/${to}`);
  });

  it('finds a reason by its name, and leads to it', async () => {
    const { page } = await openTab();
    await page.goto(home);
    await page.locator('#local-search button').click();
    await page.getByRole('searchbox').fill('CreateOutcomeUnknown');
    const result = page.locator('#localsearch-list li').first();
    await expect.poll(() => result.textContent()).toContain('CreateOutcomeUnknown');
    await result.click();
    await page.waitForURL(`${addressOf('docs/reference/reasons.md')}#createoutcomeunknown`);
    const heading = page.locator('#createoutcomeunknown');
    await expect.poll(async () => ((await heading.boundingBox())?.y ?? -1) >= 0).toBe(true);
    expect((await heading.boundingBox())?.y).toBeLessThan(WIDE.height);
  });

  it('switches to dark mode, its diagrams too', async () => {
    const { page } = await openTab();
    await page.goto(home);
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const diagram = page.locator('.diagram svg');
    await diagram.waitFor();
    const [light, drawn] = [await background(), await diagram.innerHTML()];
    await page.locator('.VPSwitchAppearance:visible').first().click();
    await expect.poll(background).not.toBe(light);
    await expect.poll(() => diagram.innerHTML()).not.toBe(drawn);
  });

  it('copies the text of a block of code', async () => {
    const { page } = await openTab();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(home);
    const block = page.locator('div[class*=language-]', { hasText: 'npm run image' }).first();
    await block.hover();
    await block.locator('button.copy').click();
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(copied).toContain('npm run image');
  });
});
