/** Parses the operator's flags, and the environment variables and files of settings that replace them. */
import { distance } from 'fastest-levenshtein';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { overlap } from './bind-address.ts';
import { readCertificates } from './certificates.ts';
import { FlagError } from './flag-error.ts';
import { FLAGS, type FlagSpec, type FlagValues } from './flags.ts';
import { parseProxies, PROXY_VARIABLES } from './proxy.ts';
import { readSettings, UnknownSetting } from './settings.ts';
import type { ProxyFor } from '../base/proxy.ts';
import { version } from '../base/version.ts';

/** The operator's settings. */
export type Config = FlagValues & {
  /** How connections to the provider are made. */
  network: { proxyFor: ProxyFor; certificates: string[] };
};

type ParsedConfig =
  | { kind: 'run'; config: Config }
  | { kind: 'help'; text: string }
  | { kind: 'version'; text: string }
  | { kind: 'error'; message: string };

/** Where the kubelet writes the namespace of the pod. */
const POD_NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const MAX_SHOWN = 100;
const HELP_WIDTH = 100;

interface Given {
  text: string;
  /** The flag, environment variable or file that the value came from. */
  source: string;
}

/** Where values come from; the first that has a flag's value wins. */
interface Sources {
  values: Map<string, string[]>;
  env: NodeJS.ProcessEnv;
  settings: Map<string, string>;
}

const flags: readonly [string, FlagSpec][] = Object.entries(FLAGS);

/** `argv` without node and script. An empty environment variable counts as unset. Never throws for invalid input. */
export function parseConfig(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  podNamespaceFile = POD_NAMESPACE_FILE,
): ParsedConfig {
  const { values, unknown } = readFlags(argv);
  if (values.has('help')) return { kind: 'help', text: helpText() };
  if (values.has('version')) return { kind: 'version', text: version() };
  try {
    if (unknown !== undefined) throw new FlagError(unknown);
    const sources = { values, env, settings: settings(values, env) };
    const entries = flags.map(([key, spec]) => [key, valueOf(spec, given(spec, sources))] as const);
    const flagValues = Object.fromEntries(entries) as unknown as FlagValues;
    checkTogether(flagValues);
    const operatorNamespace = flagValues.operatorNamespace ?? read(podNamespaceFile);
    return { kind: 'run', config: { ...flagValues, operatorNamespace, network: networkOf(sources) } };
  } catch (error) {
    if (error instanceof FlagError) return { kind: 'error', message: error.message };
    throw error;
  }
}

/** The values of each flag in order, and the error for the first argument that is not a known flag. */
function readFlags(argv: readonly string[]): { values: Map<string, string[]>; unknown: string | undefined } {
  const options = Object.fromEntries(
    flags.map(([, { flag, boolean }]) => [
      flag,
      { type: boolean === true ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const help = { help: { type: 'boolean' as const, short: 'h' }, version: { type: 'boolean' as const } };
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...options, ...help },
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  let unknown: string | undefined;
  for (const token of tokens) {
    if (token.kind === 'option' && Object.hasOwn(help, token.name)) values.set(token.name, []);
    else if (token.kind === 'option' && Object.hasOwn(options, token.name)) {
      // A value that looks like a flag means that the value is missing, unless it follows `=`.
      if (token.value === undefined && options[token.name]?.type === 'boolean') values.set(token.name, ['true']);
      else if (token.value === undefined || (!token.inlineValue && token.value.startsWith('-'))) {
        unknown ??= `${token.rawName} needs a value: give ${formOf(token.name)}`;
      } else values.set(token.name, [...(values.get(token.name) ?? []), token.value]);
    } else unknown ??= unknownMessage(argv[token.index] ?? '');
  }
  return { values, unknown };
}

function formOf(flag: string): string {
  return flags.find(([, spec]) => spec.flag === flag)?.[1].form ?? '';
}

function unknownMessage(argument: string): string {
  if (!/^-./.test(argument) || argument === '--') return `unexpected argument ${shown(argument)}: see --help`;
  // Do not show the text after "=": it may be confidential.
  const [name = ''] = argument.split('=');
  const bare = name.replace(/^-+/, '');
  const known = [...flags.map(([, spec]) => spec.flag), 'help', 'version'];
  const [nearest = ''] = known.sort((a, b) => distance(bare, a) - distance(bare, b));
  // Suggest a flag only if at most half of its letters differ.
  const hint = distance(bare, nearest) <= nearest.length / 2 ? `did you mean --${nearest}?` : 'see --help';
  return `unknown flag ${shown(name)}: ${hint}`;
}

/** The files of `--settings-dir`. An unknown file is an error: a misspelled limit would limit nothing. */
function settings(values: Map<string, string[]>, env: NodeJS.ProcessEnv): Map<string, string> {
  const spec = FLAGS.settingsDir;
  const folder = given(spec, { values, env, settings: new Map() })?.text;
  if (folder === undefined) return new Map();
  const own = flags.map(([, other]) => envName(other)).filter((name) => name !== envName(spec));
  const names = [...own, ...PROXY_VARIABLES];
  try {
    return readSettings(folder, names);
  } catch (error) {
    if (error instanceof UnknownSetting) {
      const file = shown(error.file);
      throw new FlagError(`unknown setting ${file} in --${spec.flag} ${shown(folder)}: give ${names.join(', ')}`);
    }
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new FlagError(`--${spec.flag} ${shown(folder)} cannot be read (${code}): give ${spec.form}`);
  }
}

/** The last of several values wins, unless the flag takes a list. */
function given(spec: FlagSpec, { values, env, settings }: Sources): Given | undefined {
  const texts = values.get(spec.flag);
  if (texts !== undefined) {
    const text = spec.repeatable === true ? texts.join(',') : (texts.at(-1) ?? '');
    // An empty list would count as unset, which for namespaces means all namespaces.
    if (text === '') throw new FlagError(`--${spec.flag} is empty: give ${spec.form}`);
    return { text, source: `--${spec.flag}` };
  }
  const name = envName(spec);
  const found = [
    { text: env[name], source: name },
    { text: settings.get(name), source: `${name} in --${FLAGS.settingsDir.flag}` },
    ...(spec.fallbackEnv === undefined ? [] : [{ text: env[spec.fallbackEnv], source: spec.fallbackEnv }]),
  ].find(({ text = '' }) => text !== '');
  return found && { text: found.text ?? '', source: found.source };
}

/** Rejects values that are valid alone but not together. */
function checkTogether(config: FlagValues): void {
  const { metricsBindAddress: metrics, healthProbeBindAddress: probes, metricsSecure, metricsCertDir } = config;
  const address = FLAGS.metricsBindAddress;
  const [secure, certificate] = [FLAGS.metricsSecure.flag, FLAGS.metricsCertDir];
  if (metricsSecure && metricsCertDir === undefined) {
    throw new FlagError(`--${secure} needs --${certificate.flag}: give ${certificate.form}`);
  }
  if (!metricsSecure && metricsCertDir !== undefined) {
    throw new FlagError(`--${certificate.flag} needs --${secure}: without it, /metrics is plain HTTP`);
  }
  if (metricsSecure && metrics === 'off')
    throw new FlagError(`--${secure} needs --${address.flag}: give ${address.form}`);
  if (metrics === 'off' || probes === 'off' || !overlap(metrics, probes)) return;
  const [first, second] = [FLAGS.metricsBindAddress.flag, FLAGS.healthProbeBindAddress.flag];
  throw new FlagError(`--${first} and --${second} name the same address: give two different ports`);
}

function networkOf(sources: Sources): Config['network'] {
  const caFile = given(FLAGS.providerCaFile, sources);
  return {
    proxyFor: parseProxies(sources.env, sources.settings),
    certificates: caFile ? readCertificates(caFile.text, caFile.source) : [],
  };
}

function valueOf(spec: FlagSpec, value: Given | undefined): unknown {
  const text = value?.text ?? spec.default;
  if (text === undefined) {
    if (spec.required !== true) return undefined;
    throw new FlagError(`--${spec.flag} (or ${envName(spec)}) is required: give ${spec.form}`);
  }
  const parsed = spec.schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new FlagError(`${value?.source ?? 'default'} ${shown(text)} is not valid: give ${spec.form}`);
}

/** An invalid value for an error message, without the user and query of a URL, which may contain credentials. */
function shown(text: string): string {
  const safe = text.replace(/^([a-z]+:\/\/)?.*@/is, '$1***@').replace(/[?#].*/s, (tail) => `${tail.charAt(0)}***`);
  return JSON.stringify(safe.length > MAX_SHOWN ? `${safe.slice(0, MAX_SHOWN)}...` : safe);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    // The file exists only in a Pod.
    return undefined;
  }
}

function envName(spec: FlagSpec): string {
  return `VPS_${spec.flag.toUpperCase().replaceAll('-', '_')}`;
}

function helpText(): string {
  const usage = flags.filter(([, spec]) => spec.required).map(([, spec]) => `--${spec.flag} ${spec.value}`);
  return [
    'Orders a server for each VirtualServer object, and cancels it when the object is deleted.',
    '',
    `Usage: vps-operator ${usage.join(' ')} [flags]`,
    '',
    'You can also set a flag by the environment variable in brackets, or by a file with the name of that',
    'variable in --settings-dir. A flag takes precedence over a variable, and a variable over a file.',
    'HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as variables or files, apply to calls to the provider.',
    '',
    ...flags.flatMap(([, spec]) => flagHelp(spec)),
    '  --help, -h\n      Show this text.\n',
    '  --version\n      Show the version.',
  ].join('\n');
}

function flagHelp(spec: FlagSpec): string[] {
  const preset = spec.required === true ? 'Required' : `Default: ${spec.absent ?? spec.default ?? 'none'}`;
  return [`  --${spec.flag} ${spec.value}`, ...wrap(spec.help), ...wrap(`${preset}. [${envName(spec)}]`), ''];
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > HELP_WIDTH) lines.push(`      ${word}`);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
