/** Parses the operator's flags, and the environment variables and files of settings that replace them. */
import { Command, Option } from 'commander';
import { readFileSync, readdirSync } from 'node:fs';
import { FlagError, overlap, shown } from './flag-values.ts';
import { FLAGS, type FlagSpec, type FlagValues } from './flags.ts';
import { PROXY_VARIABLES, parseProxies } from './proxy.ts';
import type { ProxyFor } from '../base/proxy.ts';
import { similarTo } from '../base/similar.ts';
import { version } from '../base/version.ts';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';

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
const HELP_WIDTH = 100;
const INDENT = ' '.repeat(6);
const DESCRIPTION =
  'Orders a server for each VirtualServer object, and cancels it when the object is deleted.\n\n' +
  'You can also set a flag by the environment variable in brackets, or by a file with the name of that variable in ' +
  '--settings-dir. A flag takes precedence over a variable, and a variable over a file. HTTPS_PROXY, HTTP_PROXY and ' +
  'NO_PROXY, as variables or files, apply to calls to the provider.';

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
  const command = commandOf();
  const { operands, unknown } = command.parseOptions([...argv]);
  const { help, version: wantsVersion } = command.opts();
  if (help === true) return { kind: 'help', text: command.helpInformation().trimEnd() };
  if (wantsVersion === true) return { kind: 'version', text: version() };
  try {
    rejectUnknown(operands, unknown);
    const values = valuesIn(command);
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

function commandOf(): Command {
  const required = flags.filter(([, spec]) => spec.required).map(([, spec]) => `--${spec.flag} ${spec.value}`);
  const command = new Command('vps-operator')
    .usage(`${required.join(' ')} [flags]`)
    .description(DESCRIPTION)
    .helpOption(false)
    .configureHelp({
      helpWidth: HELP_WIDTH,
      optionTerm: ({ flags }) => flags.replace(/\[(.*)\]/, '$1'),
      optionDescription: ({ description }) => description,
      formatItem: (term, _width, text, helper) => {
        const wrapped = helper.boxWrap(text, HELP_WIDTH - INDENT.length);
        return `  ${term}\n${wrapped.replaceAll(/^/gm, INDENT)}\n`;
      },
    });
  for (const [, spec] of flags) command.addOption(optionOf(spec));
  return command.option('-h, --help', 'Show this text.').option('--version', 'Show the version.');
}

/** For commander, every value is optional: it would take the next flag for a value that is missing. */
function optionOf(spec: FlagSpec): Option {
  const preset = spec.required === true ? 'Required' : `Default: ${spec.absent ?? spec.default ?? 'none'}`;
  const option = new Option(`--${spec.flag} [${spec.value}]`, `${spec.help}\n${preset}. [${envName(spec)}]`);
  option.argParser((text: string, before: string[] | true | undefined) =>
    before === true ? before : [...(before ?? []), text],
  );
  return spec.boolean === true ? option.preset('true') : option;
}

/** The values of each flag that is given, in order. For commander, a missing value is true. */
function valuesIn(command: Command): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [, { flag, form }] of flags) {
    const name = new Option(`--${flag}`).attributeName();
    const given = command.getOptionValue(name) as string[] | true | undefined;
    if (given === true) throw new FlagError(`--${flag} needs a value: give ${form}`);
    if (given !== undefined) values.set(flag, given);
  }
  return values;
}

function rejectUnknown([operand]: string[], [unknown]: string[]): void {
  if (operand !== undefined) throw new FlagError(`unexpected argument ${shown(operand)}: see --help`);
  if (unknown === undefined) return;
  // Do not show the text after "=": it may be confidential.
  const [name = ''] = unknown.split('=');
  const nearest = similarTo(name.replace(/^-+/, ''), [...flags.map(([, { flag }]) => flag), 'help', 'version']);
  const hint = nearest === undefined ? 'see --help' : `did you mean --${nearest}?`;
  throw new FlagError(`unknown flag ${shown(name)}: ${hint}`);
}

/** What the folder of `--settings-dir` sets. */
function settings(values: Map<string, string[]>, env: NodeJS.ProcessEnv): Map<string, string> {
  const spec = FLAGS.settingsDir;
  const folder = given(spec, { values, env, settings: new Map() })?.text;
  if (folder === undefined) return new Map();
  const own = flags.map(([, other]) => envName(other)).filter((name) => name !== envName(spec));
  return readSettings(folder, [...own, ...PROXY_VARIABLES]);
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

/* Reads the files that flags name: a folder of settings, and certificates of CAs. */

/**
 * The text of each setting in the folder by its name, without surrounding space: files often end with a line break. An
 * unknown file is an error: a misspelled limit would limit nothing. Unlike `envFrom`, the folder cannot set variables that
 * the runtime reads, such as NODE_OPTIONS. Throws a FlagError.
 */
export function readSettings(folder: string, known: readonly string[]): Map<string, string> {
  const { flag, form } = FLAGS.settingsDir;
  try {
    // Kubernetes keeps the versions of a mounted ConfigMap in `..data` and `..TIME`.
    const files = readdirSync(folder).filter((file) => !file.startsWith('..'));
    const unknown = files.find((file) => !known.includes(file));
    if (unknown !== undefined)
      throw new FlagError(`unknown setting ${shown(unknown)} in --${flag} ${shown(folder)}: give ${known.join(', ')}`);
    return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8').trim()]));
  } catch (error) {
    if (error instanceof FlagError) throw error;
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new FlagError(`--${flag} ${shown(folder)} cannot be read (${code}): give ${form}`);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates in PEM. Throws a FlagError that names the flag or variable, the file, and what is wrong with it. */
export function readCertificates(file: string, source: string): string[] {
  const fail = (why: string): never => {
    throw new FlagError(`${source} ${file} cannot be used: ${why}. Give a file with CA certificates in PEM format`);
  };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return fail((error as Error).message);
  }
  const certificates = text.match(CERTIFICATE) ?? fail('it contains no certificate');
  for (const [index, pem] of certificates.entries()) {
    if (!isCertificate(pem)) fail(`certificate ${index + 1} of ${certificates.length} cannot be read`);
  }
  return certificates;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
