/** What the program says about calls that it refuses, and what the API server adds to its answers. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { SSH_KEY, virtualServer } from '../../fixtures/virtual-server.ts';
import { apiServer, kubeconfig, runProgram } from './support.ts';

const run = (...words: string[]): ReturnType<typeof runProgram> => runProgram(words);

const NEW = ['new', 'web', '--product=VPSX4', '--image=i', '--disk-size=1', `--ssh-key=${SSH_KEY}`];

it('repeats each warning of the API server once, as kubectl does', async () => {
  const file = await kubeconfig(({ method }, response) => {
    if (method === 'POST')
      response.setHeader('warning', [
        '299 - "expiresAt is in the \\"past\\""',
        '299 - "other, too", 299 - "other, too"',
      ]);
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  const { code, said } = await run(...NEW, '--apply', '--kubeconfig', file);
  expect(code).toBe(0);
  expect(said.split('\n').filter((line) => line.startsWith('Warning'))).toEqual([
    'Warning: expiresAt is in the "past"',
    'Warning: other, too',
  ]);
});

it.each([
  ['AlreadyExists', 'virtualservers.vps-operator.dev "web" already exists', 'there is already a VirtualServer "web"'],
  ['Conflict', 'Operation cannot be fulfilled on resourcequotas "servers"', 'the object changed'],
])('tells by a 409 with the reason %s whether the object of `new` exists', async (reason, message, says) => {
  const file = await kubeconfig(({ method }, response) => {
    const status = { kind: 'Status', status: 'Failure', reason, message, code: 409 };
    response
      .writeHead(method === 'POST' ? 409 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(method === 'POST' ? status : { items: [] }));
  });
  const { code, said } = await run(...NEW, '--apply', '--kubeconfig', file);
  expect([code, said]).toEqual([1, expect.stringContaining(says)]);
  expect(said.includes('replace')).toBe(reason === 'AlreadyExists');
});

it.each([
  [['help', 'nosuch'], 'unknown command "nosuch"'],
  [['help', 'statsu'], 'did you mean kubectl vps status?'],
  [['scale', 'pool'], 'did you mean kubectl scale vpsset/NAME --replicas=NUMBER\\?'],
  [['constructor'], 'unknown command "constructor"\\n  kubectl vps --help'],
  [
    ['status', '--outptu', 'json'],
    "unknown option '--outptu'\\n {2}did you mean --output\\?\\n {2}kubectl vps status --help .*\\n$",
  ],
  [
    ['rollout', 'staus', 'pool'],
    "unknown command 'staus'\\n {2}did you mean status\\?\\n {2}kubectl vps rollout --help .*\\n$",
  ],
  [
    ['rollout', 'pol'],
    "unknown command 'pol'\\n {2}kubectl vps rollout --help .*: status, pause, resume, restart, undo, history\\n$",
  ],
  [['stop', 'web', '--all'], "unknown option '--all'\\n {2}kubectl vps stop --help"],
  [['reboot', 'web', '--force'], "unknown option '--force'\\n {2}kubectl vps reboot --help"],
  [['wait'], 'missing required argument.*\\n {2}kubectl vps wait --help'],
  [['status', 'web', 'db'], 'too many arguments.*\\n {2}kubectl vps status --help'],
  [['version'], 'did you mean kubectl vps --version\\?'],
  [['restart', 'web'], 'did you mean kubectl vps reboot\\?'],
  [[...NEW, '--disk-size', '10GB'], 'Use a size that kubectl vps catalog lists: a whole number without a unit\\.'],
  [['extend', 'web', '--expires-at', 'noon'], 'Must be a time that exists, such as 2027-01-31T18:00:00Z\\.'],
  [['extend', 'web', '--expires-at', '2027-02-30T00:00:00Z'], 'Must be a time that exists'],
  [[...NEW, '--expires-at', '2027-02-29T00:00:00Z'], '--expires-at: must be a time that exists'],
  [
    ['undelete', 'web', '--at', 'noon'],
    "unknown option '--at'\n  kubectl vps undelete --help   # shows its arguments and flags\n$",
  ],
  [
    [...NEW, '--deletion-policy', 'Keep'],
    "unknown option '--deletion-policy'\n\\(--retain sets spec.deletionPolicy\\)\n  kubectl vps new --help .*\n$",
  ],
  [[...NEW, '--product-code', 'x'], "unknown option '--product-code'"],
  [[...NEW, '--label', 'a=b=c'], 'A label is KEY=VALUE, and its value has at most 63 letters'],
  [[...NEW, '--ttl', '3x'], 'Use a duration above 0, such as 72h, 4d or 1h30m\\.'],
  [
    ['new', 'a'.repeat(300), ...NEW.slice(2)],
    'name "aaaaaaaaaaaaaaaaaaaa...": it has 300 characters, and 253 is the maximum',
  ],
  [['plan', 'shop.yaml'], 'kubectl vps plan.* -f shop.yaml'],
])('explains what is wrong with %j', async (words, says) => {
  const file = await kubeconfig((_request, response) => response.writeHead(500).end());
  const { code, said } = await run(...words, '--kubeconfig', file);
  expect([code, said]).toEqual([2, expect.stringMatching(new RegExp(says))]);
});

it('shows the help of a command, and of all if none is named', async () => {
  expect(await run('help', 'status')).toMatchObject({ code: 0, said: '' });
  expect(await run('help')).toMatchObject({ code: 0, said: '' });
});

it.each(['json', 'yaml'])('lists objects as kubectl shows them, without their managers: -o %s', async (format) => {
  const managedFields = [{ manager: 'kubectl', operation: 'Apply' }];
  const { apiVersion, kind, metadata, spec } = virtualServer('web');
  const whole = {
    apiVersion,
    kind,
    metadata: { ...metadata, namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1, managedFields },
    spec,
  };
  const { file } = await apiServer(({ url }) => ({ items: url?.includes('sets') ? [] : [whole] }));
  const { code, printed } = await run('list', '-o', format, '--kubeconfig', file);
  const { managedFields: _hidden, ...shown } = whole.metadata;
  expect([code, parse(printed)]).toEqual([
    0,
    { apiVersion: 'v1', kind: 'List', items: [{ ...whole, metadata: shown }] },
  ]);
});

it.each([
  { words: [], says: 'VirtualServer "web"', hint: 'kubectl vps replace web', status: 'status web' },
  { words: ['--set'], says: 'VirtualServerSet "web"', hint: 'kubectl edit vpsset web', status: 'status set/web' },
])(
  'says what to do if new --apply finds the name taken, before the price: %j',
  async ({ words, says, hint, status }) => {
    const file = await kubeconfig(({ method }, response) => {
      const taken = { kind: 'Status', status: 'Failure', reason: 'AlreadyExists', message: 'exists', code: 409 };
      const [code, body] = method === 'POST' ? [409, taken] : [200, { items: [] }];
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const { code, said } = await run(...NEW, ...words, '--apply', '--kubeconfig', file);
    expect(code).toBe(1);
    expect(said).toMatch(new RegExp(`^kubectl vps: there is already a ${says} in namespace "default"`));
    expect(said).toContain(`kubectl vps ${status} `);
    expect(said).toContain(hint);
  },
);

it.each(['--kubeconfig', '--certificate-authority'])(
  'says of a file that %s names why it cannot be read',
  async (flag) => {
    const file = await kubeconfig((_request, response) => response.writeHead(500).end());
    const given = flag === '--kubeconfig' ? [] : ['--kubeconfig', file];
    const { code, said } = await run('list', ...given, flag, '/nope');
    expect(code).toBe(2);
    expect(said).toMatch(/^kubectl vps: --\S+.* no such file or directory\n$/);
  },
);

it.each([
  { words: ['cancel', 'web', '--now', '--yes'], policy: 'vps-operator-deletion-delay', isShown: false },
  { words: ['cancel', 'web', '--yes'], policy: 'vps-operator-deletion-delay', isShown: true },
  { words: ['cancel', 'web', '--now', '--yes'], policy: 'vps-operator-mistakes', isShown: true },
  { words: ['logout', '--secret', 'old', '--yes'], policy: 'vps-operator-api-keys', isShown: false },
])('leaves out a warning that the command itself answers: %j', async ({ words, policy, isShown }) => {
  const { apiVersion, kind, metadata, spec } = virtualServer('web');
  const web = {
    ...{ apiVersion, kind, spec: { ...spec, apiKeySecretRef: { name: 'vps-api-key' } } },
    metadata: { ...metadata, namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 },
  };
  const file = await kubeconfig(({ method, url }, response) => {
    if (method === 'DELETE')
      response.setHeader(
        'warning',
        `299 - "Validation failed for ValidatingAdmissionPolicy '${policy}' with binding 'b': why"`,
      );
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify(url?.includes('/virtualservers/') ? web : { items: [] }));
  });
  const { code, said } = await run(...words, '--kubeconfig', file);
  expect([code, said.includes('Warning')]).toEqual([0, isShown]);
});
