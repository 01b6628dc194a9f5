/** --metrics-secure of a real operator: the API server decides who may read /metrics, over TLS; probes need no token. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { applyRbac, rbacObjects } from '../../../tools/control-plane/operator-identity.ts';
import { adminHttp, kubectl } from '../kube/support.ts';
import { useAudit } from '../support/audit.ts';
import { selfSigned } from '../support/certificate.ts';
import { spawnOperator } from '../support/process.ts';
import { pageUrl, read } from '../support/scrape.ts';
import { createWorld, type World } from '../support/world.ts';

const COMPONENT = new URL('../../../deploy/manifests/components/metrics-secure/rbac.yaml', import.meta.url);
const METRICS = '--metrics-bind-address=127.0.0.1:0';
const PROBES = '--health-probe-bind-address=127.0.0.1:0';

const audited = useAudit();

beforeAll(async () => {
  const http = adminHttp();
  await applyRbac(http, rbacObjects(await readFile(COMPONENT, 'utf8')));
  await http.close();
});

interface Answer {
  status: number | undefined;
  body: string;
  challenge: string | undefined;
}

/** Trusts only this certificate. */
function get(port: string, ca: string, authorization?: string, path = '/metrics'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    const sent = request({ host: '127.0.0.1', port, path, ca, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (body += part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, body, challenge: response.headers['www-authenticate'] }),
      );
    });
    sent.on('error', reject).end();
  });
}

/** The token of a new ServiceAccount; `role` is a ClusterRole that is bound to it. */
async function tokenOf(world: World, name: string, role?: string): Promise<string> {
  const where = ['--namespace', world.namespace];
  await kubectl('create', 'serviceaccount', name, ...where);
  const binding = `${world.namespace}-${name}`;
  if (role !== undefined) {
    const subject = `--serviceaccount=${world.namespace}:${name}`;
    await kubectl('create', 'clusterrolebinding', binding, `--clusterrole=${role}`, subject);
    onTestFinished(async () => {
      await kubectl('delete', 'clusterrolebinding', binding);
    });
  }
  return (await kubectl('create', 'token', name, ...where)).trim();
}

async function secureWorld() {
  const world = await createWorld({ operator: false });
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-metrics-tls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async ({ cert, key }: { cert: string; key: string }): Promise<void> => {
    await writeFile(join(folder, 'tls.crt'), cert);
    await writeFile(join(folder, 'tls.key'), key);
  };
  const pair = selfSigned();
  await write(pair);
  await spawnOperator(world, [METRICS, PROBES, '--metrics-secure', `--metrics-cert-dir=${folder}`]);
  const { port } = new URL(await pageUrl(world, '/metrics'));
  return { world, port, write, ca: pair.cert };
}

describe('secure metrics', () => {
  it('need a token whose user may GET /metrics; probes need none', async () => {
    const { world, port, ca } = await secureWorld();
    expect(await get(port, ca)).toMatchObject({ status: 401, challenge: 'Bearer' });
    expect(await get(port, ca, 'Bearer no-token-of-this-cluster')).toMatchObject({ status: 401 });
    expect(await get(port, ca, undefined, '/else')).toMatchObject({ status: 401 });

    const stranger = await tokenOf(world, 'stranger', 'view');
    const refused = await get(port, ca, `Bearer ${stranger}`);
    expect(refused).toEqual({
      status: 403,
      body: 'the user of this token may not get this page\n',
      challenge: undefined,
    });

    const reader = await tokenOf(world, 'reader', 'vps-operator-metrics-reader');
    // The authorizer follows a watch; a refusal is remembered for ten seconds.
    await expect.poll(async () => (await get(port, ca, `Bearer ${reader}`)).status).toBe(200);
    const page = await get(port, ca, `Bearer ${reader}`);
    expect(page.body).toMatch(/^vps_operator_build_info\{/m);
    expect(await get(port, ca, `Bearer ${reader}`, '/else')).toMatchObject({ status: 404 });

    for (const path of ['/livez', '/readyz']) {
      const url = await pageUrl(world, path);
      await expect.poll(() => read(url)).toEqual({ status: 200, body: 'ok\n' });
    }
    const log = JSON.stringify(world.log);
    expect([stranger, reader, 'no-token-of-this-cluster'].filter((token) => log.includes(token))).toEqual([]);
  });

  it('are not served without TLS, nor to a client that does not trust the certificate', async () => {
    const { port, ca } = await secureWorld();
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('fetch failed');
    await expect(get(port, selfSigned().cert)).rejects.toThrow(/self-signed certificate/);
    expect(await get(port, ca)).toMatchObject({ status: 401 });
  });

  it('get a renewed certificate without a restart, and keep the old one while the new one is unusable', async () => {
    const { world, port, write, ca } = await secureWorld();
    await write({ cert: selfSigned().cert, key: selfSigned().key });
    const said = (text: string): boolean => world.log.some(({ msg }) => msg === text);
    await world.until(async () => {
      expect(await get(port, ca)).toMatchObject({ status: 401 });
      return said('cannot use the new certificate of the metrics; keeping the old one');
    }, 'the operator to refuse a certificate with another key');

    const renewed = selfSigned();
    await write(renewed);
    await expect.poll(() => get(port, renewed.cert).catch(String)).toMatchObject({ status: 401 });
    expect(said('the certificate of the metrics has changed')).toBe(true);
    await expect(get(port, ca)).rejects.toThrow(/self-signed certificate/);
  });

  it('keep the operator from starting if there is no certificate, with an error that names the folder', async () => {
    const world = await createWorld({ operator: false });
    const operator = await spawnOperator(world, [METRICS, '--metrics-secure', '--metrics-cert-dir=/nowhere']);
    expect(await operator.exited).toBe(1);
    const { err } = world.log.find(({ msg }) => msg === 'operator failed') ?? {};
    expect(err).toMatchObject({
      message: "--metrics-cert-dir /nowhere cannot be used: ENOENT: no such file or directory, open '/nowhere/tls.crt'",
    });
  });
});

it('asks the API server once a minute for one token', async () => {
  const { world, port, ca } = await secureWorld();
  const reader = await tokenOf(world, 'scraper', 'vps-operator-metrics-reader');
  await expect.poll(async () => (await get(port, ca, `Bearer ${reader}`)).status).toBe(200);
  const reviews = async (): Promise<number> => (await audited('"resource":"tokenreviews"')).length;
  const before = await reviews();
  expect(before).toBeGreaterThan(0);
  for (let count = 0; count < 5; count += 1)
    expect(await get(port, ca, `Bearer ${reader}`)).toMatchObject({ status: 200 });
  expect(await reviews()).toBe(before);
});
