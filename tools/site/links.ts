/** Makes the links of the Markdown, which are those of the repository, work on the site too. */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { PAGES, routeOf } from './pages.ts';

/**
 * What `href` in `page` is on the site: another page of the site, or a file of the repository that the site does not show.
 * Throws if the file does not exist. VitePress checks the pages.
 */
export function siteLink(href: string, page: string, root: string, files: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  const [path = '', anchor] = href.split('#', 2);
  const from = posix.dirname(page);
  const target = posix.join(from, decodeURI(path));
  const end = anchor === undefined ? '' : `#${anchor}`;
  if (PAGES.includes(target)) return `${posix.relative(from, routeOf(target))}${end}`;
  if (!existsSync(join(root, target))) throw new Error(`${page} links to ${href}, which does not exist`);
  return `${files}/${target}${end}`;
}

interface Token {
  type: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
/** The part of markdown-it that is used here. */
export interface LinkParser {
  core: {
    ruler: { push(name: string, rule: (state: { tokens: Token[]; env: { relativePath: string } }) => void): void };
  };
}

/** A plugin of markdown-it. */
export function rewriteLinks(parser: LinkParser, root: string, files: string): void {
  parser.core.ruler.push('repository-links', ({ tokens, env }) => {
    const page = env.relativePath === 'index.md' ? 'README.md' : env.relativePath;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href !== null) token.attrSet('href', siteLink(href, page, root, files));
    }
  });
}
