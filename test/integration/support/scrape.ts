/** The operator's pages as a kubelet and a Prometheus read them. */
import type { World } from './world.ts';

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
}

/** The URL of the newest page server with this path, once it listens. */
export async function pageUrl(world: World, path: string): Promise<string> {
  const lines = (): Record<string, unknown>[] =>
    world.log.filter(({ msg, pages }) => msg === 'serving pages' && (pages as string[]).includes(path));
  await world.until(() => lines().length > 0, `an operator to serve ${path}`);
  return `http://127.0.0.1:${String(lines().at(-1)?.port)}${path}`;
}

export async function read(url: string): Promise<{ status: number; body: string }> {
  const response = await fetch(url);
  return { status: response.status, body: await response.text() };
}

/** Reads and parses /metrics; fails unless the text is well-formed exposition format 0.0.4. */
export async function scrape(url: string): Promise<Family[]> {
  const response = await fetch(url);
  if (response.headers.get('content-type') !== 'text/plain; version=0.0.4; charset=utf-8')
    throw new Error(`content type ${response.headers.get('content-type') ?? 'none'}`);
  return parseExposition(await response.text());
}

/** The value of the one sample that has these labels; undefined if there is none. */
export function valueOf(families: Family[], name: string, labels: Record<string, string> = {}): number | undefined {
  const samples = families.flatMap((family) => family.samples).filter((sample) => sample.name === name);
  const found = samples.filter((sample) =>
    Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  if (found.length > 1) throw new Error(`${name}${JSON.stringify(labels)} is ambiguous`);
  return found[0]?.value;
}

const SAMPLE = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

function parseExposition(text: string): Family[] {
  const families: Family[] = [];
  const seen = new Set<string>();
  if (!text.endsWith('\n')) throw new Error('the last line has no line feed');
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') families.push({ name, type: '', help: rest, samples: [] });
    const family = families.at(-1);
    if (line === '' || kind === 'HELP') continue;
    if (kind === 'TYPE' && family?.name === name && family.type === '') family.type = rest;
    else if (family === undefined || family.type === '' || seen.has(line)) throw new Error(`unexpected line ${line}`);
    else family.samples.push(sampleOf(line, family));
    seen.add(line);
  }
  return families;
}

function sampleOf(line: string, family: Family): Sample {
  const { name = '', labels = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
  const suffix = family.type === 'histogram' ? /^_(bucket|sum|count)$/ : /^$/;
  if (!name.startsWith(family.name) || !suffix.test(name.slice(family.name.length)))
    throw new Error(`${line} does not belong to ${family.name}`);
  if (!/^([+-]?(\d+(\.\d+)?(e[+-]?\d+)?|Inf)|nan)$/i.test(value)) throw new Error(`${line} has no value`);
  return { name, labels: labelsOf(labels), value: Number(value.replace('Inf', 'Infinity')) };
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let end = 0; end < text.length; end = LABEL.lastIndex) {
    LABEL.lastIndex = end;
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined || name in labels) throw new Error(`unexpected labels ${text}`);
    labels[name] = value;
  }
  return labels;
}
