/** Draws a terminal session as an SVG picture with Freeze (github.com/charmbracelet/freeze, pinned in go.mod). */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { goProgram } from '../go-program.ts';

export interface Picture {
  /** Read aloud by screen readers: what the picture is, and what it shows. */
  title: string;
  description: string;
  /** Lines of the terminal with escape sequences for colors. */
  text: string;
}

/** The reader's own font: an embedded font would be many times larger than the rest of a picture. */
const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, Liberation Mono, monospace';
const STYLE = {
  language: 'ansi',
  background: '#171717',
  'border.radius': '8',
  padding: '20',
  'font.family': FONT,
  'font.size': '14',
};
/** Freeze knows colors and the reset of everything, but neither bold, faint, nor the reset of one property. */
const FREEZE_STYLES: Record<string, string> = { 1: '97', 2: '38;5;246', 22: '0', 39: '0' };
const BOLD = 'fill="#FFFFFF"';

export async function draw({ title, description, text }: Picture): Promise<string> {
  const freeze = await goProgram({ module: import.meta.dirname, package: 'github.com/charmbracelet/freeze' });
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-picture-'));
  try {
    const file = join(folder, 'picture.svg');
    const flags = Object.entries({ ...STYLE, output: file }).map(([flag, value]) => `--${flag}=${value}`);
    const running = promisify(execFile)(freeze, [...flags, '--window', '-']);
    running.child.stdin?.end(inFreezeStyles(text));
    await running;
    return finished(await readFile(file, 'utf8'), title, description);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The lines of a session without colors, as `textOf` reads them from its picture. */
export function plain(text: string): string {
  return withoutTrailingSpace(stripVTControlCharacters(text));
}

/** The lines that a picture shows. */
export function textOf(svg: string): string {
  const lines = [...svg.matchAll(/<text [^>]*?(?:\/>|>(.*?)<\/text>)/gs)].map(([, line = '']) => line);
  return withoutTrailingSpace(unescaped(lines.map((line) => line.replaceAll(/<[^>]*>/g, '')).join('\n')));
}

function inFreezeStyles(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/\u001b\[(\d+)m/g, (_, code: string) => `\u001b[${FREEZE_STYLES[code] ?? code}m`);
}

/** Adds what Freeze leaves out: a text alternative, a size that pages can scale, and bold. */
function finished(svg: string, title: string, description: string): string {
  return svg
    .replace(/^.*?(?=<svg)/s, '')
    .replace(
      /<svg width="([\d.]+)" height="([\d.]+)"([^>]*)>/,
      (_, width: string, height: string, rest: string) =>
        `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img"${rest}>\n` +
        `<title>${escaped(title)}</title>\n<desc>${escaped(description)}</desc>`,
    )
    .replace(' clip-path="url(#terminalMask)"', '')
    .replaceAll('<tspan xml:space="preserve"/>', '')
    .replaceAll(BOLD, `${BOLD} font-weight="bold"`)
    .replaceAll('><text', '>\n<text')
    .concat('\n');
}

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&amp;': '&' };

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function unescaped(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity as keyof typeof ENTITIES]);
}

function withoutTrailingSpace(text: string): string {
  return text.replaceAll(/ +$/gm, '').trimEnd();
}
