/** VitePress turns the Markdown of the repository, which stays where it is and needs no front matter, into the site. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rewriteLinks, type LinkParser } from './links.ts';
import { GROUPS, PAGES, routeOf } from './pages.ts';

interface Token {
  info: string;
  content: string;
}
type Rule = (tokens: Token[], index: number, ...rest: unknown[]) => string;
/** The part of markdown-it that is used here. */
interface Parser extends LinkParser {
  renderer: { rules: { fence: Rule; code_block: Rule } };
}

// VitePress bundles this file, but keeps its URL.
const site = fileURLToPath(new URL('.', import.meta.url));
const root = join(site, '../..');

function renderCode({ renderer: { rules } }: Parser): void {
  const fence = rules.fence;
  rules.fence = (tokens, index, ...rest) => {
    const { info = '', content = '' } = tokens[index] ?? {};
    if (info.trim() === 'mermaid') return `<Diagram source="${encodeURIComponent(content)}" />`;
    return fence(tokens, index, ...rest);
  };
  // Indented code then scrolls and has a copy button too.
  rules.code_block = fence;
}

/** `slugify` gives headings the anchors that GitHub gives them. */
export function siteConfig(slugify: (text: string) => string): object {
  const { version, homepage, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    'version' | 'homepage' | 'description',
    string
  >;
  const beginnings = new Set(PAGES.map((page) => page.split('/')[0]));
  return {
    srcDir: root,
    // A file at the root that is not a page, or a whole folder.
    srcExclude: readdirSync(root).flatMap((name) => (beginnings.has(name) ? [] : [name, `${name}/**`])),
    rewrites: Object.fromEntries(PAGES.map((page) => [page, routeOf(page)])),
    cacheDir: join(site, 'node_modules/.vitepress'),
    title: 'vps-operator',
    description,
    lang: 'en-US',
    // Browsers ask for an icon if a page names none.
    head: [['link', { rel: 'icon', href: 'data:,' }]],
    markdown: {
      anchor: { slugify },
      config(parser: Parser): void {
        rewriteLinks(parser, root, `${homepage}/blob/v${version}`);
        renderCode(parser);
      },
    },
    themeConfig: {
      version,
      search: { provider: 'local' },
      outline: [2, 3],
      nav: [{ component: 'VersionMenu' }],
      sidebar: GROUPS.map(({ title, pages }) => ({
        text: title,
        collapsed: false,
        items: Object.entries(pages).map(([page, text]) => ({ text, link: `/${routeOf(page)}` })),
      })),
      socialLinks: [{ icon: 'github', link: homepage }],
      editLink: { pattern: `${homepage}/edit/main/:path`, text: 'Edit this page' },
    },
  };
}
