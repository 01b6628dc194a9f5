import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { FLAGS } from '../../../src/config/flags.ts';
import { parseConfig, type Config } from '../../../src/config/config.ts';

const REQUIRED = ['--base-url', 'https://api.example.org', '--auth-url', 'https://auth.example.org'];
const NO_FILE = '/does/not/exist';
const EMPTY_FOLDER = mkdtempSync(join(tmpdir(), 'vps-operator-no-settings-'));
afterAll(() => rm(EMPTY_FOLDER, { recursive: true }));

const [ca = ''] = rootCertificates;
const folder = mkdtempSync(join(tmpdir(), 'config-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, ca);
afterAll(() => rmSync(folder, { recursive: true }));

function run(argv: string[], env: NodeJS.ProcessEnv = {}, file = NO_FILE): Config {
  const parsed = parseConfig([...REQUIRED, ...argv], env, file);
  if (parsed.kind !== 'run') throw new Error(`expected a config, got ${JSON.stringify(parsed)}`);
  return parsed.config;
}

function errorOf(argv: string[], env: NodeJS.ProcessEnv = {}): string {
  const parsed = parseConfig(argv, env, NO_FILE);
  return parsed.kind === 'error' ? parsed.message : `no error: ${parsed.kind}`;
}

const envNames = Object.values(FLAGS).map(({ flag }) => `VPS_${flag.toUpperCase().replaceAll('-', '_')}`);

describe('parseConfig', () => {
  it('gives every setting its default if only the URLs are set', () => {
    expect(run([])).toEqual({
      baseUrl: 'https://api.example.org',
      authUrl: 'https://auth.example.org',
      kubeconfig: undefined,
      watchNamespaces: [],
      pollIntervalMs: 60_000,
      resyncIntervalMs: 600_000,
      maxConcurrentReconciles: 32,
      providerQps: 10,
      orders: 'auto',
      maxCreatesPerHour: 60,
      maxServersPerNamespace: 0,
      maxPricePerNamespace: { usual: 0, namespaces: {} },
      connectionSecrets: false,
      sshCheckPrivateAddresses: false,
      providerTimeoutMs: 30_000,
      createTimeoutMs: 120_000,
      providerCaFile: undefined,
      kubeTimeoutMs: 15_000,
      takeoverGraceMs: 60_000,
      absenceGraceMs: 300_000,
      leaderElect: false,
      observeOnly: false,
      leaseDurationMs: 15_000,
      journalDir: undefined,
      operatorNamespace: undefined,
      metricsBindAddress: 'off',
      metricsSecure: false,
      metricsCertDir: undefined,
      healthProbeBindAddress: 'off',
      settingsDir: undefined,
      logLevel: 'info',
      logFormat: undefined,
      network: { certificates: [], proxyFor: expect.any(Function) as unknown },
    });
  });

  const values: { flag: string; text: string; expected: object }[] = [
    { flag: 'base-url', text: 'http://127.0.0.1:8080/v1/', expected: { baseUrl: 'http://127.0.0.1:8080/v1' } },
    { flag: 'auth-url', text: 'HTTPS://Auth.example.org/', expected: { authUrl: 'https://auth.example.org' } },
    { flag: 'kubeconfig', text: './kubeconfig', expected: { kubeconfig: './kubeconfig' } },
    { flag: 'watch-namespace', text: 'a, b-1,a', expected: { watchNamespaces: ['a', 'b-1'] } },
    { flag: 'poll-interval', text: '500ms', expected: { pollIntervalMs: 500 } },
    { flag: 'resync-interval', text: '1h', expected: { resyncIntervalMs: 3_600_000 } },
    { flag: 'max-concurrent-reconciles', text: '1000', expected: { maxConcurrentReconciles: 1000 } },
    { flag: 'provider-qps', text: '0.5', expected: { providerQps: 0.5 } },
    { flag: 'orders', text: 'named', expected: { orders: 'named' } },
    { flag: 'max-creates-per-hour', text: '0', expected: { maxCreatesPerHour: 0 } },
    { flag: 'max-servers-per-namespace', text: '5', expected: { maxServersPerNamespace: 5 } },
    {
      flag: 'max-price-per-namespace',
      text: '100, team-a=12.5,team-b=0',
      expected: { maxPricePerNamespace: { usual: 100, namespaces: { 'team-a': 12.5, 'team-b': 0 } } },
    },
    { flag: 'connection-secrets', text: 'true', expected: { connectionSecrets: true } },
    { flag: 'provider-timeout', text: '5s', expected: { providerTimeoutMs: 5_000 } },
    { flag: 'create-timeout', text: '1m30s', expected: { createTimeoutMs: 90_000 } },
    { flag: 'ssh-check-private-addresses', text: 'true', expected: { sshCheckPrivateAddresses: true } },
    { flag: 'provider-ca-file', text: caFile, expected: { network: { certificates: [ca] } } },
    { flag: 'kube-timeout', text: '1s', expected: { kubeTimeoutMs: 1_000 } },
    { flag: 'takeover-grace', text: '2m', expected: { takeoverGraceMs: 120_000 } },
    { flag: 'absence-grace', text: '10m', expected: { absenceGraceMs: 600_000 } },
    { flag: 'leader-elect', text: 'true', expected: { leaderElect: true } },
    { flag: 'observe-only', text: 'true', expected: { observeOnly: true } },
    { flag: 'lease-duration', text: '3s', expected: { leaseDurationMs: 3_000 } },
    { flag: 'journal-dir', text: '/journal', expected: { journalDir: '/journal' } },
    { flag: 'operator-namespace', text: 'vps-system', expected: { operatorNamespace: 'vps-system' } },
    { flag: 'metrics-bind-address', text: ':8080', expected: { metricsBindAddress: { host: undefined, port: 8080 } } },
    { flag: 'metrics-secure', text: 'true', expected: { metricsSecure: true } },
    { flag: 'metrics-cert-dir', text: '/tls', expected: { metricsCertDir: '/tls' } },
    {
      flag: 'health-probe-bind-address',
      text: '[::1]:8081',
      expected: { healthProbeBindAddress: { host: '::1', port: 8081 } },
    },
    { flag: 'settings-dir', text: EMPTY_FOLDER, expected: { settingsDir: EMPTY_FOLDER } },
    { flag: 'log-level', text: 'debug', expected: { logLevel: 'debug' } },
    { flag: 'log-format', text: 'text', expected: { logFormat: 'text' } },
  ];

  const FLAGS_ALONE = new Set(['leader-elect', 'connection-secrets', 'metrics-secure']);
  /** Flags that need another one. */
  const WITH: Record<string, string[]> = {
    'metrics-secure': ['--metrics-cert-dir=/tls', '--metrics-bind-address=:8080'],
    'metrics-cert-dir': ['--metrics-secure', '--metrics-bind-address=:8080'],
  };

  it.each(values)(
    'reads --$flag $text from the flag, in both forms, and from the environment',
    ({ flag, text, expected }) => {
      const env = { [`VPS_${flag.toUpperCase().replaceAll('-', '_')}`]: text };
      const other = WITH[flag] ?? [];
      expect(run([...other, ...(FLAGS_ALONE.has(flag) ? [`--${flag}`] : [`--${flag}`, text])])).toMatchObject(expected);
      expect(run([...other, `--${flag}=${text}`])).toMatchObject(expected);
      const given = REQUIRED.join(' ')
        .replace(new RegExp(`--${flag} \\S+ ?`), '')
        .trim()
        .split(' ');
      expect(parseConfig([...given, ...other], env, NO_FILE)).toMatchObject({ kind: 'run', config: expected });
    },
  );

  it('has a case for every flag in the test above', () => {
    expect(values.map(({ flag }) => flag)).toEqual(Object.values(FLAGS).map(({ flag }) => flag));
  });

  it('prefers the flag over the environment, and the last of two flags', () => {
    expect(run(['--poll-interval', '5s'], { VPS_POLL_INTERVAL: 'nonsense' })).toMatchObject({ pollIntervalMs: 5_000 });
    expect(run(['--poll-interval', '5s', '--poll-interval', '6s'])).toMatchObject({ pollIntervalMs: 6_000 });
  });

  it('takes a flag that needs no value several times, with a value or without', () => {
    expect(run(['--leader-elect', '--leader-elect=false'])).toMatchObject({ leaderElect: false });
    expect(run(['--leader-elect=false', '--leader-elect'])).toMatchObject({ leaderElect: true });
    expect(run(['--leader-elect', 'true'])).toMatchObject({ leaderElect: true });
  });

  it('takes --metrics-secure only with an address', () => {
    expect(errorOf([...REQUIRED, '--metrics-secure', '--metrics-cert-dir=/tls'])).toMatch(
      /^--metrics-secure needs --metrics-bind-address: give /,
    );
  });

  it('takes --metrics-secure and --metrics-cert-dir only together', () => {
    expect(errorOf([...REQUIRED, '--metrics-secure'])).toBe(
      '--metrics-secure needs --metrics-cert-dir: give the path of a folder with tls.crt and tls.key',
    );
    expect(errorOf([...REQUIRED, '--metrics-cert-dir=/tls'])).toBe(
      '--metrics-cert-dir needs --metrics-secure: without it, /metrics is plain HTTP',
    );
  });

  it('collects repeated namespaces', () => {
    const { watchNamespaces } = run(['--watch-namespace', 'a', '--watch-namespace=b,c'], { VPS_WATCH_NAMESPACE: 'd' });
    expect(watchNamespaces).toEqual(['a', 'b', 'c']);
  });

  it('treats an empty environment variable as unset, but not an empty flag', () => {
    const env = Object.fromEntries(envNames.map((name) => [name, '']));
    expect(JSON.stringify(run([], env))).toBe(JSON.stringify(run([])));
    expect(errorOf([...REQUIRED, '--watch-namespace='])).toMatch(/^--watch-namespace is empty: give a namespace/);
  });

  it("looks up the operator's namespace in flag, variable, POD_NAMESPACE and the Pod's file, in this order", async () => {
    const dir = await mkdtemp(join(tmpdir(), 'config-'));
    const file = join(dir, 'namespace');
    await writeFile(file, 'from-file\n');
    const env = { VPS_OPERATOR_NAMESPACE: 'from-env', POD_NAMESPACE: 'from-pod' };
    const found = [
      run(['--operator-namespace', 'from-flag'], env, file),
      run([], env, file),
      run([], { POD_NAMESPACE: 'from-pod' }, file),
      run([], {}, file),
    ];
    await rm(dir, { recursive: true });
    expect(found.map((config) => config.operatorNamespace)).toEqual(['from-flag', 'from-env', 'from-pod', 'from-file']);
  });

  it.each([
    ['base-url', 'api.example.org'],
    ['base-url', 'ftp://api.example.org'],
    ['base-url', 'https:api.example.org'],
    ['base-url', 'https://api.example.org/?'],
    ['base-url', 'https://api.example.org#x'],
    ['auth-url', 'https://'],
    ['watch-namespace', 'Upper'],
    ['watch-namespace', 'a,,b'],
    ['watch-namespace', 'a-'],
    ['watch-namespace', 'a'.repeat(64)],
    ['poll-interval', '5'],
    ['poll-interval', '0s'],
    ['create-timeout', '600h'],
    ['max-concurrent-reconciles', '0'],
    ['max-concurrent-reconciles', '1001'],
    ['max-concurrent-reconciles', '1.5'],
    ['max-concurrent-reconciles', '0x10'],
    ['provider-qps', '0'],
    ['provider-qps', 'Infinity'],
    ['orders', 'names'],
    ['max-creates-per-hour', '1e3'],
    ['max-servers-per-namespace', '-1'],
    ['max-price-per-namespace', '1e3'],
    ['max-price-per-namespace', '10,20'],
    ['max-price-per-namespace', 'a=1,a=2'],
    ['max-price-per-namespace', 'Team=1'],
    ['max-price-per-namespace', 'a='],
    ['metrics-bind-address', '8080'],
    ['metrics-bind-address', ':65536'],
    ['metrics-bind-address', '::1:8080'],
    ['metrics-bind-address', '[localhost]:8080'],
    ['health-probe-bind-address', 'http://localhost:8081'],
    ['health-probe-bind-address', ':'],
    ['log-level', 'verbose'],
    ['log-format', 'xml'],
    ['operator-namespace', 'a.b'],
  ])('rejects --%s=%s in one line that names the flag or variable, the value and the valid form', (flag, text) => {
    const { form } = Object.values(FLAGS).find((spec) => spec.flag === flag) ?? { form: 'no such flag' };
    const env = `VPS_${flag.toUpperCase().replaceAll('-', '_')}`;
    const ending = ` is not valid: give ${form}`;
    const fromFlag = errorOf([...REQUIRED, `--${flag}=${text}`]);
    expect(fromFlag.startsWith(`--${flag} "`) && fromFlag.endsWith(ending)).toBe(true);
    const rest = REQUIRED.join(' ')
      .replace(new RegExp(`--${flag} \\S+ ?`), '')
      .trim()
      .split(' ');
    const fromEnv = errorOf(rest, { [env]: text });
    expect(fromEnv.startsWith(`${env} "`) && fromEnv.endsWith(ending)).toBe(true);
    expect(`${fromFlag}${fromEnv}`).not.toContain('\n');
  });

  it.each([
    [':8080', ':8080', true],
    ['127.0.0.1:8080', ':8080', true],
    ['127.0.0.1:8080', '0.0.0.0:8080', true],
    ['[::1]:8080', '[::1]:8080', true],
    ['127.0.0.1:8080', '127.0.0.2:8080', false],
    [':8080', ':8081', false],
    [':0', ':0', false],
    ['0', '0', false],
  ])('with metrics on %s and probes on %s, rejection is %s', (metrics, probes, refused) => {
    const argv = [...REQUIRED, '--metrics-bind-address', metrics, '--health-probe-bind-address', probes];
    expect(errorOf(argv)).toBe(
      refused
        ? '--metrics-bind-address and --health-probe-bind-address name the same address: give two different ports'
        : 'no error: run',
    );
  });

  it('quotes the invalid value', () => {
    expect(errorOf([...REQUIRED, '--log-level', 'loud'])).toBe(
      '--log-level "loud" is not valid: give one of trace, debug, info, warn, error, fatal, silent',
    );
    expect(errorOf(REQUIRED, { POD_NAMESPACE: 'A' })).toMatch(/^POD_NAMESPACE "A" is not valid/);
  });

  it.each([
    'https://user:pa55@host/',
    'https://user:pa55/pa55@host/',
    'https://host/?key=pa55',
    'https://host/#pa55',
    'user:pa55@host',
  ])('does not quote the credentials in %s', (url) => {
    const message = errorOf(['--base-url', url]);
    expect(message).toMatch(/^--base-url ".*host.*" is not valid/);
    expect(message).not.toContain('pa55');
  });

  it.each([
    { argv: [], message: /^--base-url \(or VPS_BASE_URL\) is required: give an http or https URL/ },
    { argv: REQUIRED.slice(0, 2), message: /^--auth-url \(or VPS_AUTH_URL\) is required/ },
    { argv: ['--base-url', '--auth-url', 'x'], message: /^--base-url needs a value: give an http or https URL/ },
    { argv: [...REQUIRED, '--log-level'], message: /^--log-level needs a value: give one of trace/ },
    { argv: ['--pol-interval=5s'], message: /^unknown flag "--pol-interval": did you mean --poll-interval\?$/ },
    { argv: ['-base-url', 'x'], message: /^unknown flag "-base-url": did you mean --base-url\?$/ },
    { argv: ['--namespace', 'x'], message: /^unknown flag "--namespace": did you mean --watch-namespace\?$/ },
    { argv: ['--token=pa55'], message: /^unknown flag "--token": see --help$/ },
    { argv: ['--constructor'], message: /^unknown flag "--constructor": see --help$/ },
    { argv: ['-x'], message: /^unknown flag "-x": see --help$/ },
    { argv: [...REQUIRED, 'run'], message: /^unexpected argument "run": see --help$/ },
    { argv: [...REQUIRED, '--', '--log-level'], message: /^unexpected argument "--log-level": see --help$/ },
    {
      argv: [...REQUIRED, '--log-level', '--log-level=debug'],
      message: /^--log-level needs a value: give one of trace/,
    },
    { argv: [...REQUIRED, '--journal-dir', '--leader-elect'], message: /^--journal-dir needs a value: give the path/ },
  ])('reports what is wrong with $argv', ({ argv, message }) => {
    expect(errorOf(argv)).toMatch(message);
  });

  it.each([{ argv: ['--help'] }, { argv: ['-h'] }, { argv: ['--nonsense', '--help'] }])(
    'shows the help for $argv',
    ({ argv }) => {
      expect(parseConfig(argv, {}, NO_FILE).kind).toBe('help');
    },
  );

  it('lists every flag with its environment variable and default in the help, in lines that fit a terminal', () => {
    const parsed = parseConfig(['--help'], {}, NO_FILE);
    const text = parsed.kind === 'help' ? parsed.text : '';
    for (const [index, spec] of Object.values(FLAGS).entries()) {
      const [, entry = ''] = text.split(`\n  --${spec.flag} ${spec.value}\n`);
      const [body = ''] = entry.split('\n\n');
      expect(body).toContain(`[${envNames[index] ?? ''}]`);
      expect(body).toContain(
        'required' in spec ? 'Required' : `Default: ${'absent' in spec ? spec.absent : spec.default}`,
      );
    }
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('shows the version', () => {
    expect(parseConfig(['--version'], {}, NO_FILE)).toEqual({ kind: 'version', text: 'development' });
  });
});

describe('the folder of --settings-dir', () => {
  let folder: string;
  const write = (settings: Record<string, string>) =>
    Promise.all(Object.entries(settings).map(([name, text]) => writeFile(join(folder, name), text)));
  const flag = (): string => `--settings-dir=${folder}`;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vps-operator-settings-'));
    return () => rm(folder, { recursive: true });
  });

  it('has one file per setting, also for a required one, with or without a line break', async () => {
    await write({
      VPS_BASE_URL: 'https://a.example\n',
      VPS_AUTH_URL: 'https://b.example',
      VPS_CONNECTION_SECRETS: 'true',
    });
    for (const [argv, env] of [
      [[flag()], {}],
      [[], { VPS_SETTINGS_DIR: folder }],
    ] as const)
      expect(parseConfig(argv, env, NO_FILE)).toMatchObject({
        kind: 'run',
        config: { baseUrl: 'https://a.example', authUrl: 'https://b.example', connectionSecrets: true },
      });
  });

  it('loses to a flag and to an environment variable, and wins over a default and over POD_NAMESPACE', async () => {
    await write({
      VPS_POLL_INTERVAL: '1s',
      VPS_RESYNC_INTERVAL: '2s',
      VPS_KUBE_TIMEOUT: '3s',
      VPS_OPERATOR_NAMESPACE: 'a',
    });
    const env = { VPS_POLL_INTERVAL: '4s', VPS_RESYNC_INTERVAL: '5s', POD_NAMESPACE: 'b' };
    expect(run([flag(), '--poll-interval=6s'], env)).toMatchObject({
      pollIntervalMs: 6_000,
      resyncIntervalMs: 5_000,
      kubeTimeoutMs: 3_000,
      operatorNamespace: 'a',
    });
  });

  it('may be a mounted ConfigMap, whose other files begin with two dots', async () => {
    await mkdir(join(folder, '..2026'));
    await symlink('..2026', join(folder, '..data'));
    await writeFile(join(folder, '..data/VPS_POLL_INTERVAL'), '1s');
    await symlink('..data/VPS_POLL_INTERVAL', join(folder, 'VPS_POLL_INTERVAL'));
    expect(run([flag()])).toMatchObject({ pollIntervalMs: 1_000 });
  });

  it('treats an empty file as unset', async () => {
    await write({ VPS_POLL_INTERVAL: '\n' });
    expect(run([flag()])).toMatchObject({ pollIntervalMs: 60_000 });
  });

  it.each(['NODE_OPTIONS', 'VPS_POL_INTERVAL', 'VPS_SETTINGS_DIR', 'POD_NAMESPACE', 'vps_poll_interval', '__proto__'])(
    'may not have a file %s, and the error lists the names that it may have',
    async (name) => {
      await write({ [name]: '1s' });
      const own = envNames.filter((other) => other !== 'VPS_SETTINGS_DIR');
      const others = [...own, 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].join(', ');
      expect(errorOf([...REQUIRED, flag()])).toBe(
        `unknown setting "${name}" in --settings-dir "${folder}": give ${others}`,
      );
    },
  );

  it('may name the proxies, which variables of the environment replace, in lower case too', async () => {
    await write({ HTTPS_PROXY: 'http://a.example:3128\n', NO_PROXY: 'b.example' });
    const proxyOf = (origin: string, env: NodeJS.ProcessEnv): string | undefined =>
      run([flag()], env).network.proxyFor(origin)?.origin;
    expect(proxyOf('https://c.example', {})).toBe('http://a.example:3128');
    expect(proxyOf('https://b.example', {})).toBeUndefined();
    expect(proxyOf('https://c.example', { https_proxy: 'http://d.example:3128' })).toBe('http://d.example:3128');
  });

  it('is named in the error for an invalid value', async () => {
    await write({ VPS_POLL_INTERVAL: '60' });
    expect(errorOf([...REQUIRED, flag()])).toMatch(
      /^VPS_POLL_INTERVAL in --settings-dir "60" is not valid: give a duration/,
    );
  });

  it('must be readable, and contain files only', async () => {
    expect(errorOf([...REQUIRED, '--settings-dir=/does/not/exist'])).toBe(
      '--settings-dir "/does/not/exist" cannot be read (ENOENT): give the path of a folder',
    );
    await mkdir(join(folder, 'VPS_POLL_INTERVAL'));
    expect(errorOf([...REQUIRED, flag()])).toMatch(/^--settings-dir .* cannot be read \(EISDIR\)/);
  });
});
