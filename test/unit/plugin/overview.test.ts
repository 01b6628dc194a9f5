import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../src/api/meta.ts';
import { FINALIZER, HAND_OVER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { overview, ORDERS, type Item, type OverviewOptions } from '../../../src/plugin/screens/overview.ts';
import { timeline } from '../../../src/plugin/screens/timeline.ts';
import { customTable, parseColumns } from '../../../src/plugin/terminal/custom-columns.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';
import { NOW, webSet } from '../../fixtures/virtual-server-set.ts';

const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const marked = (mark: string) => (text: string) => `${mark}${text}${mark}`;
const PLAIN = { strong: String, faint: String, good: String, busy: String, bad: String };
const PAINTED = { ...PLAIN, good: marked('G'), busy: marked('Y'), bad: marked('R') };
const options: OverviewOptions = {
  now: NOW,
  order: 'name',
  withNamespace: false,
  isWide: false,
  width: undefined,
  paint: PLAIN,
};

const condition = (type: string, reason: string, more: Partial<Condition> = {}): Condition => ({
  ...{ type, status: type === 'Ready' && reason === 'Available' ? 'True' : 'False', reason, message: `${reason}.` },
  lastTransitionTime: '2026-01-01T23:00:00Z',
  ...more,
});

function server(name: string, changes: Parameters<typeof storedWith>[0] = {}): Item & { object: VirtualServer } {
  const ready = {
    ...{
      observedGeneration: 1,
      serverStatus: 'running',
      identifier: `vs-${name}`,
      price: 4.5,
      ssh: 'root@host -p 2201',
    },
    ipv6: ['2001:db8::17'],
    conditions: [condition('Ready', 'Available')],
  };
  return { kind: 'server', object: stored(name, storedWith({ status: ready, ...changes })) };
}

const stuck = (name: string): Item =>
  server(name, {
    status: {
      observedGeneration: 1,
      conditions: [
        condition('Ready', 'CreateOutcomeUnknown', {
          status: 'Unknown',
          message: 'No answer. Look yourself.',
          summary: 'No answer',
        }),
        condition('Stalled', 'CreateOutcomeUnknown', {
          status: 'True',
          message: 'No answer. Look yourself.',
          summary: 'No answer',
        }),
      ],
    },
  });
const creating = (name: string): Item =>
  server(name, {
    status: {
      observedGeneration: 1,
      task: { id: 7, percent: 40 },
      conditions: [condition('Ready', 'Creating'), condition('Reconciling', 'Creating', { status: 'True' })],
    },
  });

const changing = (name: string, reason: string): Item =>
  server(name, {
    spec: { product: 'VPSX8' },
    status: {
      ...{ observedGeneration: 1, serverStatus: 'running', product: 'VPSX4', price: 4.5 },
      conditions: [condition('Ready', 'Available'), condition('ChangePending', reason, { status: 'True' })],
    },
  });

const items = (): Item[] => [
  creating('db'),
  server('api', { spec: { expiresAt: '2026-01-02T05:30:00Z' } }),
  stuck('lost'),
  server('old', {
    metadata: {
      deletionTimestamp: '2026-01-01T23:58:00Z',
      creationTimestamp: '2025-12-01T00:00:00Z',
      finalizers: [FINALIZER],
    },
  }),
  { kind: 'set', object: webSet({ replicas: 3 }) },
];

describe('kubectl vps list', () => {
  it('shows in a pipe the usual columns, in full and without dots', () => {
    expect(overview(items(), options)).toEqual([
      'NAME      STATE                  PRODUCT   PRICE   ENDS       AGE',
      'api       Ready                  VPSX4     4.50    in 5h30m   24h',
      'db        Creating 40 %          VPSX4     -       -          24h',
      'lost      CreateOutcomeUnknown   VPSX4     -       -          24h',
      'old       deleting for 2m        VPSX4     4.50    -          32d',
      'set/web   NotReported 0/3        VPSX4     -       -          24h',
      '',
      "4 servers, 1 set; 2 running for 9.00 in the provider's unit",
      '',
      'lost: No answer',
    ]);
  });

  it('shows when the server of a deleted object is cancelled', () => {
    const kept = server('kept', {
      metadata: { deletionTimestamp: '2026-01-01T23:58:00Z', finalizers: [FINALIZER] },
      status: { cancelsAt: '2026-01-02T23:58:00Z' },
    });
    const first = server('first', { spec: { expiresAt: '2026-01-02T05:30:00Z' } });
    const [, ...rows] = overview([kept, first], { ...options, order: 'ends' });
    expect(rows.slice(0, 2).join('\n')).toMatch(/^first .* in 5h30m .*\nkept +deleting for 2m .* in 23h /);
  });

  it('shows no end of a server that the operator does not cancel', () => {
    const end = { expiresAt: '2026-01-02T05:30:00Z' };
    const ending = server('ending', { spec: end });
    const protected_ = server('protected', { spec: { ...end, deletionProtection: true } });
    const unready = server('unready', { spec: { ttl: '4h', deletionProtection: true } });
    const given = server('given', { spec: end, metadata: { annotations: { [HAND_OVER_ANNOTATION]: 'other' } } });
    const [, ...rows] = overview([given, unready, protected_, ending], { ...options, order: 'ends' });
    const cells = rows.slice(0, 4).map((row) => row.split(/ {2,}/));
    expect(cells.map(([name, , , , ends]) => [name, ends])).toEqual([
      ['ending', 'in 5h30m'],
      ['given', '-'],
      ['protected', '-'],
      ['unready', '-'],
    ]);
  });

  it.each([20, 40, 60, 80, 120, 200])(
    'fits a terminal of %i columns, and leaves columns out instead of cutting them',
    (width) => {
      const lines = overview(items(), { ...options, width });
      expect(lines.filter((line) => line.length > width)).toEqual([]);
      expect(lines[0]).toMatch(/^NAME +STATE/);
      expect(lines.some((line) => line.includes('● Ready'))).toBe(true);
    },
  );

  it('tells which servers are paused, also beside another state', () => {
    const pause = condition('Paused', 'Paused', { status: 'True' });
    const paused = (item: Item): Item => {
      item.object.status?.conditions?.push(pause);
      return item;
    };
    const lines = overview([paused(server('api')), paused(creating('db')), server('web')], options);
    expect(lines.slice(1, 4).map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['api', 'Ready, paused'],
      ['db', 'Creating 40 %, paused'],
      ['web', 'Ready'],
    ]);
  });

  it('fits a terminal that is narrower than a name', () => {
    const long = server('a-name-that-is-wider-than-the-terminal', {});
    const lines = overview([long], { ...options, width: 20 });
    expect(lines.slice(0, 2)).toEqual(['NAME               …', 'a-name-that-is-wide…']);
  });

  it('shows the more columns the wider the terminal is, and none that is empty', () => {
    const header = (width: number): string[] => overview(items(), { ...options, width })[0]?.split(/ +/) ?? [];
    expect(header(36)).toEqual(['NAME', 'STATE']);
    expect(header(40)).toEqual(['NAME', 'STATE', 'PRICE']);
    expect(header(70)).toEqual(['NAME', 'STATE', 'PRODUCT', 'PRICE', 'ENDS', 'AGE']);
    expect(header(200)).toEqual([
      'NAME',
      'STATE',
      'PRODUCT',
      'PRICE',
      'ENDS',
      'AGE',
      'IPV6',
      'SSH',
      'IDENTIFIER',
      'IMAGE',
    ]);
    expect(overview(items(), { ...options, isWide: true })[0]).toContain('ZONE');
  });

  it('shows all columns whole with -o wide, also on a terminal that is too narrow for them', () => {
    const wide = { ...options, isWide: true };
    expect(overview(items(), { ...wide, width: 40 })).toEqual(overview(items(), { ...wide, width: 300 }));
  });

  it('colours the state alone: green, yellow, and red if it needs you', () => {
    const text = overview(items(), { ...options, width: 80, paint: PAINTED }).join('\n');
    expect(text).toMatch(/^api +G +● Ready +G/m);
    expect(text).toMatch(/^db +Y +● Creating 40 % +Y/m);
    expect(text).toMatch(/^lost +R +● CreateOutcomeUnknownR/m);
    expect(text).toMatch(/^old +Y +● deleting for 2m +Y/m);
  });

  it.each([
    ['name', ['api', 'db', 'lost', 'old', 'set/web']],
    ['state', ['lost', 'db', 'old', 'set/web', 'api']],
    ['price', ['api', 'old', 'db', 'lost', 'set/web']],
    ['ends', ['api', 'db', 'lost', 'old', 'set/web']],
    ['age', ['api', 'db', 'lost', 'set/web', 'old']],
    ['product', ['api', 'db', 'lost', 'old', 'set/web']],
  ] as const)('sorts by %s', (order, names) => {
    expect(ORDERS).toContain(order);
    const rows = overview(items(), { ...options, order }).slice(1, 6);
    expect(rows.map((row) => row.split(' ')[0])).toEqual(names);
  });

  it('sorts products by the numbers in their codes', () => {
    const servers = [server('a', { spec: { product: 'VPSX16' } }), server('b', { spec: { product: 'VPSX4' } })];
    const rows = overview(servers, { ...options, order: 'product' }).slice(1, 3);
    expect(rows.map((row) => row.split(' ')[0])).toEqual(['b', 'a']);
  });

  it('puts the members of a set behind it, in the order of their numbers', () => {
    const labels = { 'vps-operator.dev/set': 'web' };
    const members = ['web-10', 'web-2'].map((name) => server(name, { metadata: { labels } }));
    const all = [...members, server('z'), server('a'), { kind: 'set' as const, object: webSet() }];
    const names = overview(all, options)
      .slice(1, 6)
      .map((row) => row.split(' ')[0]);
    expect(names).toEqual(['a', 'set/web', 'web-2', 'web-10', 'z']);
  });

  it('lets no text of the provider steer the terminal', () => {
    const evil = server('evil', {
      status: {
        observedGeneration: 1,
        ssh: 'root@\u001b[2Jhost',
        ipv6: ['\u009b31m'],
        conditions: [condition('Ready', 'Available', { message: '\u001b]0;x\u0007' })],
      },
    });
    expect(overview([evil], { ...options, isWide: true }).filter((line) => STEERING.test(line))).toEqual([]);
  });
});

describe('custom columns', () => {
  const objects = [
    {
      metadata: { name: 'web', labels: { 'example.org/team': 'a' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    { metadata: { name: 'db\u001b[2J' } },
  ];

  it('show what their paths name, as kubectl does', () => {
    const spec = 'NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status,ALL:{.metadata.labels}';
    expect(customTable(objects, parseColumns(spec))).toEqual([
      'NAME     READY    ALL',
      'web      True     {"example.org/team":"a"}',
      'db [2J   <none>   <none>',
    ]);
  });

  it.each(['', 'NAME', 'NAME:', ':.metadata.name', 'NAME:metadata.name'])('are refused: %j', (spec) => {
    expect(() => parseColumns(spec)).toThrow('Use for example custom-columns=NAME:.metadata.name');
  });

  it('run no code', () => {
    const spec = 'X:.metadata[?(@.constructor.constructor("return process")().exit(1))]';
    expect(() => customTable(objects, parseColumns(spec))).toThrow('invalid path');
  });
});

describe('kubectl vps timeline', () => {
  const record = {
    ...{ owner: 'uid-of-web', mode: 'create', attempt: 'a1', attemptedAt: '2026-01-01T00:00:01Z', task: 1001 },
    ...{ identifier: 'vs1' },
    readyAt: '2026-01-01T00:05:00Z',
  };
  const object = stored(
    'web',
    storedWith({
      status: { record, conditions: [condition('Ready', 'Available', { lastTransitionTime: '2026-01-01T00:05:00Z' })] },
    }),
  );

  it('shows what happened in the order of time, with pauses, and steers no terminal', () => {
    const events = [
      { reason: 'Creating', message: 'on \u001b[2Jits way', count: 2, lastTimestamp: '2026-01-01T00:00:02Z' },
    ];
    expect(timeline(object, events, PLAIN)).toEqual([
      '2026-01-01T00:00:00Z  the object was created',
      '2026-01-01T00:00:01Z  order a1 began; its task is 1001',
      '2026-01-01T00:00:02Z  Event Creating (2 times): on  [2Jits way',
      '                      … 4m58s',
      '2026-01-01T00:05:00Z  server vs1 was first ready',
      '2026-01-01T00:05:00Z  Ready became True; now Available: Available.',
    ]);
    expect(timeline(object, undefined, PLAIN).at(-1)).toBe('No Events: you are not allowed to read them.');
  });

  it('shows a message once, where several conditions and Events have the same', () => {
    const at = '2026-01-01T00:00:02Z';
    const told = { lastTransitionTime: at, message: 'It waits.' };
    const conditions = [
      condition('Ready', 'Booting', told),
      condition('Reconciling', 'Booting', { ...told, status: 'True' }),
    ];
    const waiting = stored('web', storedWith({ status: { conditions } }));
    const events = [{ reason: 'Booting', message: 'It waits.', lastTimestamp: at }];
    expect(timeline(waiting, events, PLAIN).slice(1)).toEqual([
      `${at}  Ready became False; now Booting: It waits.`,
      `${at}  Reconciling became True; now Booting`,
      `${at}  Event Booting`,
    ]);
  });
});

describe('the sum', () => {
  const off = (name: string): Item =>
    server(name, { spec: { power: 'Off' }, status: { serverStatus: 'shut down', price: 4.5 } });

  it.each([
    ["1 server; 1 off on purpose for 4.50 in the provider's unit", [off('web')]],
    ["2 servers; 1 running and 1 off on purpose for 9.00 in the provider's unit", [off('web'), server('db')]],
    ["1 server; 1 running for 4.50 in the provider's unit", [server('db')]],
  ])('says of servers that are off on purpose that they do not run: %s', (line, all) => {
    expect(overview(all, options).at(-1)).toBe(line);
  });
});

describe('a server that is Ready, and not as you want it', () => {
  const aside = (name: string, type: string, status: object = {}): Item =>
    server(name, {
      spec: { product: 'VPSX8' },
      status: {
        ...{ observedGeneration: 1, serverStatus: 'running', product: 'VPSX8', price: 4.5, ...status },
        conditions: [
          condition('Ready', 'Available'),
          condition(type, type, { status: 'True', message: `${type} now.` }),
        ],
      },
    });

  it.each(['Drifted', 'OrphanedServer', 'HostKeyChanged'])('shows %s, and what it says', (type) => {
    const lines = overview([aside('web', type), server('db')], options);
    expect(lines[2]).toMatch(new RegExp(`^web +Ready, ${type} +VPSX8 `));
    expect(lines.at(-1)).toBe(`web: ${type} now.`);
  });

  it('shows the product that the server has beside the one in spec', () => {
    const [, row] = overview([aside('web', 'Drifted', { product: 'VPSX4' })], options);
    expect(row).toMatch(/^web +Ready, Drifted +VPSX4 ≠ VPSX8 +4\.50 /);
    const [, dormant] = overview([aside('web', 'Rebooted', { product: 'VPSX4' })], options);
    expect(dormant).toMatch(/^web +Ready +VPSX8 /);
  });
});

describe('a server that is to change in place', () => {
  const shown = (reason: string): string[] =>
    overview([changing('web', reason), server('db')], { ...options, width: 80 });

  it('shows what it has and what it becomes, and why it has not yet', () => {
    const [, , row = ''] = shown('Changing');
    expect(row).toMatch(/^web {3,}● Ready, Changing {3,}VPSX4 → VPSX8 {3,}4\.50 /);
    expect(shown('Changing').at(-1)).toMatch(/^2 servers; 2 running/);
  });

  it('says what keeps it from changing, and fits into 80 columns', () => {
    const lines = shown('ChangeUnavailable');
    expect(lines[2]).toMatch(/^web +● Ready, ChangeUnavailable +VPSX4 → VPSX8 +4\.50 +24h/);
    expect(lines.at(-1)).toBe('web: ChangeUnavailable.');
    expect(lines.every((line) => line.length <= 80)).toBe(true);
  });

  it('shows one product when the server has the product of spec', () => {
    const { object } = changing('web', 'Changing') as Item & { object: VirtualServer };
    const done = { ...object, status: { ...object.status, product: 'VPSX8' } };
    expect(overview([{ kind: 'server', object: done }], options)[1]).toMatch(/Ready, Changing +VPSX8 +4\.50/);
  });
});
