/** The checks of `kubectl vps doctor` that depend on versions and clocks, the policies that it expects, and the provider. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { checkApiServer, checkDefinitions, GUARDS } from '../../../src/plugin/checks/installation.ts';
import { checkKeys, checkObjects, type NamespaceObjects } from '../../../src/plugin/checks/namespace.ts';
import { checkProvider } from '../../../src/plugin/checks/provider.ts';
import type { CheckFinding } from '../../../src/plugin/checks/checkup.ts';
import type { ClusterView } from '../../../src/plugin/cluster/cluster.ts';
import { CommandError, EXIT } from '../../../src/plugin/terminal/failure.ts';
import { skew } from '../../../src/plugin/cluster/skew.ts';
import { catalogStatus, type Reading } from '../../../src/server-catalog/decision/catalog-status.ts';
import { catalogStates } from '../../fixtures/catalog-states.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { stored } from '../../fixtures/virtual-server.ts';

/** Answers every path as `answers` says; others with `{}`. */
function cluster(answers: Record<string, object>, serverTime?: number): ClusterView {
  const ask = ({ path }: { path: string }) => Promise.resolve(answers[path] ?? {});
  return { ask, where: ' --context=c', serverTime: () => serverTime } as unknown as ClusterView;
}

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('the clock', () => {
  it.each([
    [0, 'ok', 'agrees'],
    [4_999, 'ok', 'agrees'],
    [-300_000, 'wrong', '5m behind'],
    [20_000, 'wrong', '20s ahead of'],
  ])('%d ms ahead is %s', async (ahead, state, says) => {
    const [, clock] = await checkApiServer(cluster({}, NOW - ahead), () => NOW);
    expect(clock).toMatchObject({ state, message: expect.stringContaining(says) as string });
  });

  it('is unknown if the API server does not tell the time', async () => {
    expect((await checkApiServer(cluster({}), () => NOW))[1]?.state).toBe('unknown');
  });
});

describe('the CRDs', () => {
  const PLURALS = ['virtualservers', 'virtualserversets', 'servercatalogs'];
  const definitions = (versions: readonly (string | undefined)[], plurals = PLURALS): ClusterView =>
    cluster({
      '/apis': { groups: [{ name: 'apps' }, { name: 'vps-operator.dev' }] },
      '/apis/vps-operator.dev/v1alpha1': { resources: plurals.map((name) => ({ name })) },
      ...Object.fromEntries(
        PLURALS.map((plural, index) => {
          const labels = { 'app.kubernetes.io/version': versions[index] };
          return [
            `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.vps-operator.dev`,
            { metadata: versions[index] === undefined ? {} : { labels } },
          ];
        }),
      ),
    });

  it.each<[string, ClusterView, string | undefined, string, string]>([
    ['of the version of the operator', definitions(['1.2.3', '1.2.3', '1.2.3']), '1.2.3', 'ok', 'version 1.2.3'],
    [
      'older than the operator',
      definitions(['1.2.3', '1.2.3', '1.2.3']),
      '1.3.0',
      'wrong',
      'but the operator is 1.3.0',
    ],
    ['of different versions', definitions(['1.2.3', '1.2.3', undefined]), '1.2.3', 'wrong', '1.2.3, none'],
    ['without a version', definitions([]), '1.2.3', 'ok', 'without a label'],
    [
      'beside an operator of unknown version',
      definitions(['1.2.3', '1.2.3', '1.2.3']),
      undefined,
      'ok',
      'version 1.2.3',
    ],
    [
      'of which one is missing',
      definitions([], ['virtualservers', 'servercatalogs']),
      '1.2.3',
      'wrong',
      'virtualserversets of',
    ],
    ['that are missing', cluster({ '/apis': { groups: [] } }), '1.2.3', 'wrong', 'are not installed'],
  ])('%s', async (_what, view, operator, state, says) => {
    expect(await checkDefinitions(view, operator)).toMatchObject({
      state,
      message: expect.stringContaining(says) as string,
    });
  });
});

it('expects the policies that deploy/guards.yaml installs', () => {
  const yaml = readFileSync(join(import.meta.dirname, '../../../deploy/guards.yaml'), 'utf8');
  const objects = parseAllDocuments(yaml).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string } },
  );
  for (const kind of ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']) {
    const names = objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual([...GUARDS].sort());
  }
});

describe('the provider', () => {
  const found = (catalogs: NamespaceObjects['catalogs'], servers: NamespaceObjects['servers'] = []): CheckFinding[] =>
    checkProvider({ where: ' -n team' }, { catalogs, servers, sets: [] });
  const read = (changes: Partial<(Reading & { ok: true })['value']> = {}): ServerCatalog => {
    const catalog = storedCatalog('mine', { secret: 'team-key' });
    const lists = {
      products: [{ code: 'VPSX4' }, { code: 'VPSX8' }],
      images: [{ name: 'cloudinit-debian-trixie.raw.gz' }],
      diskSizes: { ssd: [10_240, 20_480], hdd: [10_240] },
      shapes: { products: 'Object', images: 'Array' },
    } as const;
    const none = { state: 'Unavailable' } as const;
    const further = { zones: none, prices: none };
    const reading = {
      ok: true,
      value: { catalog: lists, serverList: 'Available', ordersGo: 'named', ...further, ...changes },
    } as Reading;
    return { ...catalog, status: catalogStatus(catalog, reading, NOW) };
  };

  it('contradicts itself about a key that is no longer there in no line, and says first what that means', () => {
    const user = stored('web', (object) => ({
      ...object,
      spec: { ...object.spec, apiKeySecretRef: { name: 'team-key' } },
    }));
    const held = { catalogs: [read()], servers: [user], sets: [] };
    const missing = new Set(['team-key']);
    const findings = [...checkKeys(' -n team', held, missing), ...checkProvider({ where: ' -n team' }, held, missing)];
    expect(findings.slice(0, 2)).toEqual([
      {
        check: 'key',
        state: 'wrong',
        message: expect.stringMatching(
          /^there is no Secret team-key, which 1 server uses: the operator .* loses it when it restarts\. It then cannot read or cancel/,
        ) as string,
        steps: ['kubectl vps login -n team --secret team-key'],
      },
      {
        check: 'provider',
        state: 'unknown',
        message: expect.stringMatching(/^mine \(Secret team-key\): .* there is no key to log in with now$/) as string,
        steps: [],
      },
    ]);
    expect(findings.map(({ message }) => message).join()).not.toContain('login works');
    expect(checkKeys(' -n team', held, new Set())).toEqual([expect.objectContaining({ state: 'ok' })]);
  });

  it('shows that the login works, the lists and their form, and the list of servers', () => {
    expect(found([read()])).toEqual([
      { check: 'provider', state: 'ok', message: 'mine (Secret team-key): login works', steps: [] },
      {
        check: 'provider',
        state: 'ok',
        message: 'mine: 2 products (object), 1 images (array), 3 disk sizes; an order names one of each',
        steps: [],
      },
      {
        check: 'provider',
        state: 'ok',
        message: 'mine: the provider lists your servers, which confirms that a server is gone',
        steps: [],
      },
      {
        check: 'provider',
        state: 'ok',
        message: 'mine: orders go under an identifier, so an order without an answer is sent again',
        steps: [],
      },
    ]);
  });

  it('shows the lists that no order waits for', () => {
    const zones = { state: 'Available', list: [{ code: 'lon' }] } as const;
    const prices = { state: 'Available', list: { products: {}, disks: {} } } as const;
    const about = (changes: Parameters<typeof read>[0]): unknown => found([read(changes)])[4];
    const lists = (what: string): object => ({
      check: 'provider',
      state: 'ok',
      message: `mine: the provider lists ${what}, which kubectl vps new and plan use`,
      steps: [],
    });
    expect(about({ zones, prices })).toEqual(lists('zones and prices'));
    expect(about({ prices })).toEqual(lists('prices'));
    expect(about({ zones: { state: 'Unknown' }, prices: { state: 'Forbidden' } })).toBeUndefined();
  });

  const AGAIN =
    'kubectl annotate --overwrite vpscat mine -n team vps-operator.dev/reconcile-at="$(date)"   # reads it again';
  it.each([
    ['Unavailable', 'ok', 'has no list of servers; a server counts as gone after several denials', []],
    [
      'Forbidden',
      'unknown',
      'the API key may not list servers, so no list can confirm that a server is gone',
      [expect.stringContaining('give the key that right') as string],
    ],
    ['Unknown', 'unknown', 'the last read of the list of servers failed', [AGAIN]],
  ] as const)('tells what follows from a list of servers that is %s', (serverList, state, says, steps) => {
    const [, , servers] = found([read({ serverList })]);
    expect(servers).toEqual({ check: 'provider', state, message: expect.stringContaining(says) as string, steps });
  });

  it.each([
    [
      'Unavailable',
      'anonymous',
      'ok',
      'mine: orders go without an identifier; an order without an answer needs you',
      [],
    ],
    ['Available', 'refused', 'ok', 'although the provider lists servers: --orders=anonymous is set, or ', []],
    [
      'Unknown',
      'unknown',
      'wrong',
      'mine: new orders wait, because the list of servers',
      [AGAIN, expect.stringContaining('--orders=anonymous') as string],
    ],
  ] as const)('tells which way orders go: with a list that is %s, %s', (serverList, ordersGo, state, says, steps) => {
    const [, , , orders] = found([read({ serverList, ordersGo })]);
    expect(orders).toEqual({ check: 'provider', state, message: expect.stringContaining(says) as string, steps });
  });

  it('claims nothing about lists that an earlier version of the operator has read', () => {
    const catalog = read();
    delete catalog.status?.provider;
    const [, lists, servers, ...others] = found([catalog]);
    expect(others).toEqual([]);
    expect(lists?.message).toContain('mine: 2 products, 1 images, 3 disk sizes;');
    expect(servers).toMatchObject({ state: 'unknown', steps: [AGAIN] });
  });

  it('is wrong if a list is empty, so that nothing can be ordered', () => {
    const [login, lists] = found([
      read({ catalog: { products: [], images: [{ name: 'a' }], diskSizes: { ssd: [1] } } }),
    ]);
    expect(login?.state).toBe('ok');
    expect(lists).toMatchObject({ state: 'wrong', message: expect.stringContaining('mine: 0 products') as string });
    expect(lists?.steps).toEqual([expect.stringContaining('whether the account is suspended')]);
  });

  it.each([
    ['InvalidCredentials', /^kubectl vps login -n team {3}# /],
    ['SecretNotFound', /^kubectl vps login -n team {3}# /],
    ['SecretForbidden', /^kubectl describe vpscat catalog -n team$/],
    ['Unauthorized', /from one IP address/],
    ['PermissionDenied', /give the key the permission .* control panel$/],
    ['ProviderProtocolError', /--base-url and --auth-url .* docs\/reference\/providers\.md$/],
    ['ProviderUnavailable', /--base-url .* network/],
    ['ProviderRateLimited', /--provider-qps/],
  ])('names one thing to do about %s', (reason, step) => {
    for (const name of [reason, `${reason}_ready`]) {
      const catalog = catalogStates()[name] as ServerCatalog;
      const [finding, ...others] = found([catalog]);
      expect([finding?.state, finding?.steps.length, others]).toEqual(['wrong', 1, []]);
      expect(finding?.message).toMatch(new RegExp(`^catalog \\(Secret vps-api-key\\) ${reason}: .`));
      expect(finding?.steps[0]).toMatch(step);
    }
  });

  it('shows how to create a catalog for each key that no catalog uses', () => {
    expect(found([])).toEqual([
      {
        check: 'provider',
        state: 'unknown',
        message: 'no ServerCatalog shows whether the provider accepts the key in Secret vps-api-key',
        steps: [expect.stringMatching(/^printf %s '\{.*"name":"vps-api-key".*\}' \| kubectl apply -n team -f -$/)],
      },
    ]);
    const findings = found([read()], [stored('web')]);
    expect(findings.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok', 'ok', 'unknown']);
    expect(findings[4]?.message).toContain('Secret vps-api-key');
  });

  it('is unknown to a user who may not list catalogs', () => {
    expect(found(new CommandError(EXIT.failed, 'no right'))).toMatchObject([{ check: 'provider', state: 'unknown' }]);
  });
});

describe('the versions of operator and plugin', () => {
  it.each([
    ['0.1.0', '0.2.0', 'the operator is version 0.1.0, older than this plugin (0.2.0)'],
    ['v1.10.0', '1.9.1', 'the operator is version v1.10.0, newer than this plugin (1.9.1)'],
    ['1.0.0', '1.0.0', undefined],
    ['1.0.0-rc.1', '1.0.0', undefined],
    ['development', '1.0.0', undefined],
    ['1.0.0', 'development', undefined],
  ])('%s and %s', (operator, plugin, says) => {
    if (says === undefined) expect(skew(operator, plugin)).toBeUndefined();
    else expect(skew(operator, plugin)).toContain(says);
  });
});

describe('the objects', () => {
  const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();
  const written = (seconds: number, observedGeneration: number): VirtualServer => {
    const object = stored('web');
    const ready = {
      type: 'Ready',
      status: 'True' as const,
      reason: 'Available',
      message: '',
      lastTransitionTime: at(-3600),
    };
    const managedFields = [
      { time: at(seconds), fieldsV1: { 'f:spec': {} } },
      { time: at(0), fieldsV1: { 'f:status': {} } },
    ];
    const times = { generation: 2, creationTimestamp: at(-7200), managedFields };
    return {
      ...object,
      metadata: { ...object.metadata, ...times },
      status: { observedGeneration, conditions: [ready] },
    };
  };

  const halted = (object: VirtualServer): VirtualServer => {
    const condition = {
      type: 'Paused',
      status: 'True' as const,
      reason: 'Paused',
      message: '',
      lastTransitionTime: at(0),
    };
    return { ...object, status: { ...object.status, conditions: [...(object.status?.conditions ?? []), condition] } };
  };

  it.each<[string, VirtualServer, string]>([
    ['the operator has reported on its last change', written(-3600, 2), 'none needs you'],
    ['it has just been changed', written(-59, 1), 'none needs you'],
    ['it was changed a minute ago', written(-61, 1), '1 need you: web (NotReported)'],
    ['it was changed while it was paused', halted(written(-61, 1)), 'none needs you'],
  ])('if %s', (_when, object, says) => {
    const held = { servers: [object], sets: [], catalogs: [] };
    expect(checkObjects(cluster({}), held, NOW)[0]?.message).toBe(`1 server, 0 sets; ${says}`);
  });

  it.each(['Drifted', 'OrphanedServer', 'HostKeyChanged'])(
    'names a ready server to look at that is %s, and fails no check for it',
    (type) => {
      const object = written(-3600, 2);
      const [ready] = object.status?.conditions ?? [];
      if (ready === undefined) throw new Error('no condition');
      const conditions = [ready, { ...ready, type, reason: type }];
      const servers = [{ ...object, status: { ...object.status, conditions } }];
      expect(checkObjects(cluster({}), { servers, sets: [], catalogs: [] }, NOW)).toEqual([
        { check: 'objects', state: 'ok', message: '1 server, 0 sets; none needs you', steps: [] },
        {
          check: 'objects',
          state: 'unknown',
          message: `look at 1 server: web (${type})`,
          steps: ['kubectl vps status web --context=c'],
        },
      ]);
    },
  );
});
