import { withVerdict } from '../../../src/controller/conditions.ts';
import { describe, expect, it } from 'vitest';
import { REASONS, type ReadyReason, type Reason } from '../../../src/api/conditions.ts';
import {
  API_VERSION,
  FINALIZER,
  RECORD_ANNOTATION,
  SERVER_DEFINITION,
  SET_DEFINITION,
  SET_KIND,
} from '../../../src/api/names.ts';
import { reasonPage } from '../../../src/api/documentation.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import { nextSteps } from '../../../src/plugin/state/next-steps.ts';
import { clean } from '../../../src/plugin/terminal/terminal.ts';
import { bar, duration, progressLine, timeLeft } from '../../../src/plugin/screens/progress.ts';
import { screen } from '../../../src/plugin/screens/screen.ts';
import { sshArguments, sshDestination } from '../../../src/plugin/flags/ssh-arguments.ts';
import { columns, data } from '../../../src/plugin/terminal/table.ts';
import { quoted } from '../../../src/base/text.ts';
import { priceText, sumUp } from '../../../src/plugin/state/totals.ts';
import { usualReadyMs } from '../../../src/plugin/commands/wait.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const HOSTILE = 'red \u001b[31m, C1 \u009b2J, turned \u202e, bell \u0007\r\n, no width \u200b, line \u2028, tab \t';
const STEERING = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** The conditions for a reason of Ready; withVerdict does not know the reasons of other conditions and Events. */
const conditionsOf = (reason: Reason) => {
  try {
    return withVerdict([], { reason: reason as ReadyReason, message: 'why' }, 1, 0);
  } catch {
    return [];
  }
};
const withReason = (reason: Reason, status: VirtualServerStatus = {}) =>
  stored('web', storedWith({ status: { observedGeneration: 1, conditions: conditionsOf(reason), ...status } }));

const HOUR = 3_600_000;
const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('the next steps', () => {
  const stalled = (Object.keys(REASONS) as Reason[]).filter((reason) =>
    conditionsOf(reason).some(({ type }) => type === 'Stalled'),
  );

  it.each([
    [SERVER_DEFINITION, `kubectl annotate crd ${SERVER_DEFINITION} -n team vps-operator.dev/allow-deletion=true`],
    [SET_DEFINITION, `kubectl annotate crd ${SET_DEFINITION} -n team vps-operator.dev/allow-deletion=true`],
    [undefined, 'install the definition again'],
  ])('name the definition that holds a server back: %s', (subject, step) => {
    const conditions = withVerdict([], { reason: 'CRDDeleting', message: 'why', subject }, 1, 0);
    const object = stored('web', storedWith({ status: { observedGeneration: 1, conditions } }));
    expect(nextSteps(object, ' -n team', NOW)).toContainEqual(expect.stringContaining(step));
  });

  it('cover every reason that stops the operator', () => {
    expect(stalled).toContain('CreateOutcomeUnknown');
    expect(stalled.length).toBeGreaterThan(15);
  });

  it.each(stalled)('for %s name what the user can do', (reason) => {
    // The record names the orphans.
    const orphans = [{ task: 7 }, { attempt: "a'b;c" }];
    const record = { owner: 'uid-of-web', mode: 'create' as const, orphans };
    const steps = nextSteps(withReason(reason, reason === 'OrphanedServer' ? { record } : {}), ' -n team', NOW);
    expect(steps.at(-1)).toBe(`# more: ${reasonPage(reason)}`);
    expect(steps.filter((step) => step.startsWith('# more: '))).toHaveLength(1);
    for (const step of steps) {
      expect(step).toMatch(/^(kubectl |# )/);
      if (step.startsWith('kubectl')) expect(step).toContain(' -n team');
    }
    if (reason === 'OrphanedServer') expect(steps.at(-2)).toContain(String.raw`orphan-handled=7,a'\''b;c'`);
  });

  it('tell how to move an expiry that passed before the order, and how to correct a wrong identifier', () => {
    expect(nextSteps(withReason('Expired'), '', NOW)).toEqual([
      'kubectl edit vps web   # to set a later time',
      `# more: ${reasonPage('Expired')}`,
    ]);
    const held = { owner: 'uid-of-web', mode: 'create' as const, identifier: 'vs1' };
    const record = { ...held, expiredAt: '2026-01-01T00:00:00Z' };
    expect(nextSteps(withReason('Expired', { record }), '', NOW)[0]).toBe(
      'kubectl delete vps web   # to delete this object',
    );
    const unseen = nextSteps(withReason('ServerNotVisible'), '', NOW);
    expect(unseen[0]).toBe('kubectl vps adopt web IDENTIFIER   # to correct the annotation');
    expect(unseen[1]).toContain('kubectl vps login   # asks for the key ID and the secret');
    const seen = nextSteps(withReason('ServerNotVisible', { record: held }), '', NOW);
    expect(seen.join('\n')).not.toContain('kubectl vps adopt');
  });

  it.each([
    [
      'UserDataNotFound' as const,
      { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' } } },
      'kubectl create secret generic setup -n team --type=vps-operator.dev/user-data --from-file=user-data=FILE ',
    ],
    [
      'UserDataNotFound' as const,
      { userDataFrom: { configMapKeyRef: { name: 'setup', key: 'user-data' } } },
      'kubectl create configmap setup -n team --from-file=user-data=FILE ',
    ],
    [
      'SSHKeyNotFound' as const,
      { sshKeysFrom: [{ name: 'keys', key: 'mine' }] },
      'kubectl create secret generic keys -n team --from-file=mine=FILE ',
    ],
    [
      'InvalidSpec' as const,
      { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' } } },
      'kubectl create secret generic setup -n team --type=vps-operator.dev/user-data --from-file=user-data=FILE ',
    ],
  ])('for %s create what spec names: %j', (reason, spec, command) => {
    const { status } = withReason(reason);
    const steps = nextSteps(stored('web', storedWith({ spec, status })), ' -n team', NOW);
    expect(steps.filter((step) => step.startsWith(command))).toHaveLength(1);
    expect(steps).toContain('kubectl edit vps web -n team   # to correct spec');
  });

  it('for the key of a Secret with SSH keys, set this key in this Secret alone', () => {
    const { status } = withReason('SSHKeyNotFound');
    const conditions = status?.conditions?.map((condition) => ({ ...condition, subject: 'theirs/key' })) ?? [];
    const spec = {
      sshKeysFrom: [
        { name: 'mine', key: 'key' },
        { name: 'theirs', key: 'key' },
      ],
    };
    const steps = nextSteps(stored('web', storedWith({ spec, status: { ...status, conditions } })), ' -n team', NOW);
    expect(steps.filter((step) => step.includes('secret'))).toEqual([
      'kubectl create secret generic theirs -n team --from-file=key=FILE --dry-run=client -o yaml | kubectl patch secret theirs ' +
        '-n team --type merge --patch-file /dev/stdin   # to put the SSH public keys into the Secret',
    ]);
  });

  it.each(['PoweredOff', 'Dormant'] as const)('for %s switch the server on, or all of its set', (reason) => {
    const { status } = withReason(reason);
    expect(nextSteps(stored('web', storedWith({ status })), ' -n team', NOW)).toEqual([
      'kubectl vps start web -n team   # to switch it on',
      `# more: ${reasonPage(reason)}`,
    ]);
    const ownerReferences = [{ apiVersion: API_VERSION, kind: SET_KIND, name: 'pool', uid: 'u', controller: true }];
    expect(nextSteps(stored('web', storedWith({ metadata: { ownerReferences }, status })), '', NOW)[0]).toBe(
      'kubectl vps start set/pool   # to switch the members of its set on',
    );
  });

  it('include those of the conditions that are not about Ready', () => {
    const condition = { type: 'Expiring', reason: 'ExpiresSoon', message: 'why', lastTransitionTime: '' };
    const conditions = [...conditionsOf('Available'), { ...condition, status: 'True' as const }];
    expect(nextSteps(withReason('Available', { conditions }), '', NOW)).toEqual([
      'kubectl edit vps web   # to keep the server',
      'kubectl vps extend web --expires-at TIME   # to set a later end',
      `# more: ${reasonPage('ExpiresSoon')}`,
    ]);
  });

  it('are empty for a ready server, and one command and its page for a paused one', () => {
    expect(nextSteps(withReason('Available'), '', NOW)).toEqual([]);
    const paused = { type: 'Paused', status: 'True', reason: 'Paused', message: '' } as const;
    const conditions = [...conditionsOf('Available'), { ...paused, lastTransitionTime: '', observedGeneration: 1 }];
    expect(nextSteps(withReason('Available', { conditions }), '', NOW)).toEqual([
      'kubectl vps resume web   # to continue',
      `# more: ${reasonPage('Paused')}`,
    ]);
  });
});

describe('text from others', () => {
  const written = conditionsOf('Creating').map((condition) => ({ ...condition, reason: HOSTILE, message: HOSTILE }));
  const conditions = written.flatMap((condition) => [condition, { ...condition, type: HOSTILE }]);
  const status = { conditions, task: { id: 7, message: HOSTILE }, name: HOSTILE, serverStatus: HOSTILE };
  const object = withReason('Creating', status);
  const paint = {
    strong: String,
    faint: String,
    good: String,
    busy: String,
    bad: String,
  };

  it('does not steer the terminal on the screen, in a table, in a progress line or as data', () => {
    const events = [{ reason: HOSTILE, message: HOSTILE, eventTime: '2026-01-01T00:00:00Z' }];
    const lines = screen({ object, events, now: Date.parse('2026-01-01T00:01:00Z'), where: '', paint });
    expect(lines.join('\n')).toContain('C1  2J, turned');
    expect(lines.join('\n')).not.toMatch(STEERING);
    expect(lines.filter((line) => line.includes('\n'))).toEqual([]);
    expect(progressLine(object)).not.toMatch(STEERING);
    expect(columns(['A'], [[HOSTILE]]).join('\n')).not.toMatch(STEERING);
    expect(clean(HOSTILE)).toBe('red  [31m, C1  2J, turned  , bell  , no width  , line  , tab');
  });

  it.each(['json', 'yaml'] as const)('keeps its value as %s', async (format) => {
    const object = { text: HOSTILE, turned: 'a\u202eb', tab: 'a\tb', lines: 'a\nb\n', ['key\u202e']: ['\u2028'] };
    const text = data(object, format);
    expect(text).not.toMatch(STEERING);
    const { parse } = await import('yaml');
    expect(parse(text)).toEqual(object);
  });
});

describe('the screen', () => {
  const paint = { strong: String, faint: String, good: String, busy: String, bad: String };
  const shown = (object: VirtualServer, now = NOW): string =>
    screen({ object, events: [], now, where: '', paint }).join('\n');

  it('shows how long a condition has had its status, apart from the reason, which may be newer', () => {
    const conditions = conditionsOf('TaskNotFound').map((condition) => ({
      ...condition,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
    const text = shown(withReason('TaskNotFound', { conditions }), Date.parse('2026-01-01T00:01:21Z'));
    expect(text).toContain('Not ready: TaskNotFound  why');
    expect(text).toContain('\n  Stalled=True for 81s, now TaskNotFound\n');
  });

  it('prints each command once, in the next steps, with the subject of the condition', () => {
    const [advice, subject] = ['If so, run `kubectl annotate vps web accept-server=srv1@mac`', 'srv1@mac'];
    const verdict = { reason: 'IdentityUnproven', message: 'Server srv1 may be another one', advice, subject } as const;
    const conditions = withVerdict([], verdict, 1, 0);
    const events = [{ reason: 'Unreachable', message: advice, eventTime: '2026-01-01T00:00:00Z' }];
    const object = withReason('IdentityUnproven', { conditions });
    const text = screen({ object, events, now: NOW, where: '', paint }).join('\n');
    expect(text).toContain('Not ready: IdentityUnproven  Server srv1 may be another one\n');
    expect(text.match(/accept-server=srv1@mac/g)).toHaveLength(1);
    expect(text).toMatch(/^ +0s ago {2}Unreachable$/m);
  });

  it('quotes an argument that the shell would change', () => {
    const verdict = { reason: 'IdentityUnproven', message: 'why', subject: 'srv1;reboot@x' } as const;
    const text = shown(withReason('IdentityUnproven', { conditions: withVerdict([], verdict, 1, 0) }));
    expect(text).toContain(
      "vps web 'vps-operator.dev/accept-server=srv1;reboot@x'   # if it is the server of this object",
    );
  });

  it('claims only what is known about an object without conditions', () => {
    const unseen = stored('web', storedWith({ status: {} }));
    expect(shown(unseen)).toContain('Not ready: NotReported  The operator has not reported on this object yet');
    expect(shown(unseen)).not.toMatch(/run\?|last change/);
    const annotations = {
      [RECORD_ANNOTATION]: formatRecord({ owner: 'uid-of-web', mode: 'create', attempt: 'first' }),
    };
    const claimed = stored('web', storedWith({ metadata: { annotations }, status: {} }));
    expect(shown(claimed)).toContain('The operator has claimed this object but has not reported on it yet');
    const steps = nextSteps(claimed, ' -n team', NOW);
    expect(steps.map((step) => step.split(' ').slice(0, 3).join(' '))).toEqual([
      'kubectl get events',
      'kubectl logs -n',
      '# more: https://github.com/vps-operator/vps-operator/blob/main/docs/reference/kubectl-plugin.md#status',
    ]);
  });
});

describe('a word of a command', () => {
  it.each([
    ['web', 'web'],
    ['/home/me/kube config', "'/home/me/kube config'"],
    ["a'b", String.raw`'a'\''b'`],
    ['$(reboot)', "'$(reboot)'"],
    ['', "''"],
  ])('%j is quoted if a shell would interpret it', (word, expected) => expect(quoted(word)).toBe(expected));
});

describe('progress', () => {
  it('is a bar of constant width', () => {
    expect([undefined, -1, 0, 50, 100, 200].map((percent) => bar(percent).slice(0, 26))).toEqual([
      `[${'·'.repeat(24)}]`,
      `[${'-'.repeat(24)}]`,
      `[${'-'.repeat(24)}]`,
      `[${'#'.repeat(12)}${'-'.repeat(12)}]`,
      `[${'#'.repeat(24)}]`,
      `[${'#'.repeat(24)}]`,
    ]);
  });

  it('is a line with or without a bar', () => {
    const task = { id: 7, message: 'Waiting', percent: 50 };
    const creating = withReason('Creating', { task });
    expect(progressLine(creating)).toBe(`${bar(50)}  Creating: Waiting`);
    expect(progressLine(creating, true)).toBe('Creating: Waiting');
    expect(progressLine(withReason('Available'))).toBe(`[${'#'.repeat(24)}] 100 %  Available: ready`);
    const changed = withReason('Available');
    changed.metadata.generation += 1;
    expect(progressLine(changed)).toBe(
      `${bar(undefined)}  Available: the operator has not reported on the last change yet`,
    );
  });

  it('shows the time left', () => {
    const task = { id: 7, message: 'Waiting', secondsRemaining: 30 };
    expect(timeLeft(undefined, 0)).toBeUndefined();
    expect(timeLeft(task, 0)).toBe('about 30s left');
    const expected = { ...task, expectedAt: '1970-01-01T00:02:00Z' };
    expect(timeLeft(expected, 30_000)).toBe('about 90s left');
    expect(timeLeft(expected, 120_000)).toBe('expected to end now');
  });

  it.each([
    [-1, '0s'],
    [0, '0s'],
    [119_999, '119s'],
    [120_000, '2m'],
    [150_000, '2m30s'],
    [599_999, '9m59s'],
    [600_000, '10m'],
    [3 * HOUR - 1, '179m'],
    [3 * HOUR, '3h'],
    [3 * HOUR + 300_000, '3h5m'],
    [8 * HOUR, '8h'],
    [47 * HOUR, '47h'],
    [48 * HOUR, '2d'],
    [51 * HOUR, '2d3h'],
    [8 * 24 * HOUR, '8d'],
    [2 * 365 * 24 * HOUR, '2y'],
    [(2 * 365 + 1) * 24 * HOUR, '2y1d'],
    [8 * 365 * 24 * HOUR, '8y'],
  ])('shows %d ms as kubectl does: %s', (ms, text) => expect(duration(ms)).toBe(text));
});

describe('the usual time of a product', () => {
  const ordered = (name: string, seconds: number, product = 'VPSX4', mode: 'create' | 'adopt' = 'create') => {
    const [attemptedAt, readyAt] = [NOW, NOW + seconds * 1000].map((ms) => new Date(ms).toISOString());
    const owner = `uid-of-${name}`;
    const record = { owner, mode, attempt: 'a', attemptedAt, readyAt } as const;
    return stored(name, storedWith({ spec: { product }, status: { record } }));
  };
  const web = stored('web', storedWith({ spec: { product: 'VPSX4' }, status: {} }));

  it('is the median from the order to the first Ready, of other servers that were ordered', () => {
    const all = [
      ordered('a', 90),
      ordered('b', 60),
      ordered('c', 900),
      ordered('bigger', 1, 'VPSX8'),
      ordered('adopted', 1, 'VPSX4', 'adopt'),
      ordered('web', 1),
      web,
    ];
    expect(usualReadyMs(web, all)).toBe(90_000);
  });

  it('counts to the time at which Ready became True if the record has none, except for a server that was out of order', () => {
    const ready = (name: string, seconds: number, status: 'True' | 'False' = 'True') => {
      const { record: { readyAt: _, ...record } = {}, ...rest } = ordered(name, 0).status as {
        record?: { readyAt?: string };
      };
      const lastTransitionTime = new Date(NOW + seconds * 1000).toISOString();
      const conditions = [{ type: 'Ready', status, reason: 'Available', message: '', lastTransitionTime }];
      return stored(name, storedWith({ spec: { product: 'VPSX4' }, status: { ...rest, record, conditions } }));
    };
    expect(usualReadyMs(web, [ready('a', 60), ready('b', 90), ready('c', 120)])).toBe(90_000);
    expect(usualReadyMs(web, [ready('flapped', 3601), ready('unready', 60, 'False')])).toBeUndefined();
  });

  it('is unknown if no other server tells', () => expect(usualReadyMs(web, [ordered('web', 60), web])).toBeUndefined());
});

describe('a table', () => {
  it('has columns as wide as their cells, a dash for an empty cell, and no trailing blanks', () => {
    expect(
      columns(
        ['A', 'LONG'],
        [
          ['wide', ''],
          ['x', 'y'],
        ],
      ),
    ).toEqual(['A      LONG', 'wide   -', 'x      y']);
  });
});

describe('ssh', () => {
  const reached = (status: VirtualServerStatus) =>
    stored('web', storedWith({ status: { identifier: 'vs1', ...status } }));
  const proxy = (hostname: string, port = 2222) => reached({ sshProxy: { hostname, port } });

  it('connects to the proxy under an alias of the server, and passes words after the host as the command', () => {
    const words = sshArguments(sshDestination(proxy('proxy.example.com'), false, ''), ['-i', 'key'], ['-V']);
    expect(words.join(' ')).toBe(
      '-o HostKeyAlias=vps-vs1 -o CheckHostIP=no -p 2222 -i key -- root@proxy.example.com -V',
    );
  });

  it.each(['-oProxyCommand=reboot', 'a b', 'a;b', '', '$(reboot)', 'a\nb'])('rejects %j as a host', (hostname) => {
    expect(() => sshDestination(proxy(hostname), false, '')).toThrow('no valid host name');
  });

  it.each([0, -1, 65_536, 22.5, NaN, '22'])('rejects %j as the port of the proxy', (port) => {
    const sshProxy = Object.assign({ hostname: 'proxy.example.com', port: 2222 }, { port });
    expect(() => sshDestination(reached({ sshProxy }), false, '')).toThrow(
      /^status\.sshProxy\.port of web is .*, not a port from 1 to 65535$/,
    );
  });

  it.each([1, 65_535])('connects to port %d of the proxy', (port) => {
    expect(sshDestination(proxy('proxy.example.com', port), false, '').port).toBe(port);
  });

  it('uses an alias without characters that ssh would read as a pattern', () => {
    const { hostKeyAlias } = sshDestination(reached({ identifier: 'a*,b', ipv6: ['x', '2001:db8::1'] }), true, '');
    expect(hostKeyAlias).toMatch(/^vps-[0-9a-f]{64}$/);
    expect(sshDestination(reached({ ipv6: ['x', '2001:db8::1'] }), true, '')).toMatchObject({ host: '2001:db8::1' });
    expect(() => sshDestination(reached({ ipv6: ['-oX'] }), true, '')).toThrow('no IPv6 address');
    expect(() => sshDestination(reached({}), false, '')).toThrow('no SSH proxy');
  });
});

describe('the cost', () => {
  it('counts running servers by namespace, and those without a price', () => {
    const server = (namespace: string, status: VirtualServerStatus) =>
      stored('web', storedWith({ metadata: { namespace }, status }));
    const objects = [
      server('b', { serverStatus: 'running', price: 0.1 }),
      server('b', { serverStatus: 'Running', price: 0.2 }),
      server('a', { serverStatus: 'running' }),
      server('a', { serverStatus: 'stopped', price: 100 }),
      server('c', {}),
    ];
    expect(sumUp(objects)).toEqual({
      namespaces: [
        { namespace: 'a', servers: 1, price: 0, unpriced: 1 },
        { namespace: 'b', servers: 2, price: 0.3, unpriced: 0 },
      ],
      all: { servers: 3, price: 0.3, unpriced: 1 },
    });
  });

  it('counts servers that are off on purpose, which cost money too', () => {
    const off = (power: 'Off' | 'Dormant') =>
      stored('web', storedWith({ spec: { power }, status: { serverStatus: 'shut down', price: 4.5 } }));
    const all = { servers: 2, off: 2, price: 9, unpriced: 0 };
    expect(sumUp([off('Off'), off('Dormant')]).all).toEqual(all);
  });

  it('leaves out servers that no longer exist or that the operator has released', () => {
    const running = { serverStatus: 'running', price: 4.5 };
    const record = { owner: 'uid', mode: 'create', missingAt: '2026-01-01T00:00:00Z' };
    const missing = stored('web', storedWith({ status: { ...running, record } }));
    const end = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    const letGo = storedWith({ metadata: { ...end, finalizers: ['example.com/other'] }, status: running });
    const held = storedWith({ metadata: { ...end, finalizers: [FINALIZER] }, status: running });
    expect(sumUp([missing, stored('web', letGo)]).all.servers).toBe(0);
    expect(sumUp([stored('web', held)]).all).toEqual({ servers: 1, price: 4.5, unpriced: 0 });
  });

  it.each([
    [0, '0.00'],
    [4.5, '4.50'],
    [1234.5, '1234.50'],
    [0.304, '0.304'],
    [0.004, '0.004'],
    [0.0000014, '0.000001'],
  ])('shows %d as %s', (price, text) => expect(priceText(price)).toBe(text));
});
