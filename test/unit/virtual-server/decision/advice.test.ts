import { expect, it } from 'vitest';
import { sentences } from '../../../../src/controller/commands.ts';
import type { Reason } from '../../../../src/api/conditions.ts';
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { timestamp } from '../../../../src/base/duration.ts';
import { adoptCommand, adviceOn } from '../../../../src/virtual-server/decision/advice.ts';
import { ATTEMPTED, HELD, NOW, TASKED, web } from '../../../fixtures/decision.ts';

const advice = (reason: Reason, object: VirtualServer, record?: ServerRecord, subject?: string): string =>
  sentences(adviceOn(reason, { object, record, subject, now: NOW }), object);

it.each([
  ['srv1', '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=srv1`'],
  ['srv;1', "`kubectl annotate --overwrite vps web -n default 'vps-operator.dev/adopt=srv;1'`"],
  ['no identifier', '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=IDENTIFIER`'],
  ['x'.repeat(300), '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=IDENTIFIER`'],
])('gives a command that adopts %s only if the annotation can name it', (identifier, command) => {
  expect(sentences([{ text: 'If so', command: adoptCommand(identifier) }], web())).toBe(`If so, run ${command}`);
});

it('keeps the server of a protected object with an expiry by one patch that the API server accepts', () => {
  const object = web({ spec: { deletionProtection: true, ttl: '72h' } });
  expect(advice('DeletionProtected', object)).toContain(
    `-p '{"spec":{"deletionPolicy":"Retain","deletionProtection":false,"ttl":null}}'`,
  );
});

it('says that an annotation to adopt keeps the operator from ordering again', () => {
  const again = 'the operator then orders again';
  expect(advice('CreateOutcomeUnknown', web(), ATTEMPTED)).toContain(again);
  const adopting = web({ annotations: { [ADOPT_ANNOTATION]: 'srv2' } });
  expect(advice('CreateOutcomeUnknown', adopting, ATTEMPTED)).not.toContain(again);
  expect(advice('CreateOutcomeUnknown', adopting, ATTEMPTED)).toContain('once you remove the annotation adopt as well');
});

it('has you remove a confirmation that is void before you set it again', () => {
  const remove = '`kubectl annotate vps web -n default vps-operator.dev/server-gone-`';
  expect(advice('AbsenceUnproven', web(), HELD)).not.toContain(remove);
  expect(advice('AbsenceUnproven', web({ annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } }), HELD)).toContain(remove);
});

it('tells a task that may belong to another order from a server that may be another one', () => {
  const task = advice('IdentityUnproven', web(), TASKED, 'task-7@account');
  expect(task).toMatch(/the task belongs to this order, run `[^`]+accept-server=task-7@account`\. Look in /);
  expect(advice('IdentityUnproven', web(), HELD, 'task-7@account')).not.toMatch(/server-gone|not-created/);
  const server = advice('IdentityUnproven', web(), HELD, 'srv1@00:00:5e:00:53:ff');
  expect(server).toMatch(
    /accept-server=srv1@00:00:5e:00:53:ff`.* If it is another server, run `[^`]+server-gone=srv1`/,
  );
});

it.each(['StopRequired', 'ChangeRefused', 'ChangeUnavailable'] as const)(
  'names with %s all fields that have to be set back to keep the server unchanged',
  (reason) => {
    const asking = (change: string): string =>
      advice(reason, web(), { ...HELD, change: { identifier: 'srv1', change, since: timestamp(NOW) } });
    expect(asking('{"product":"VPSX8"}')).toContain('; set the field back');
    expect(asking('{"product":"VPSX8","specs":{"disk_size":20480}}')).toContain('; set all these fields back');
  },
);

it('offers no annotation about a server while only a task is known', () => {
  expect(advice('AbsenceUnproven', web(), TASKED)).toBe('');
});

it('corrects unknown annotations, or removes them with one command', () => {
  expect(advice('UnknownAnnotation', web({ annotations: { 'vps-operator.dev/adoptt': '' } }))).toBe(
    'If you mean vps-operator.dev/adopt, run `kubectl annotate --overwrite vps web -n default ' +
      'vps-operator.dev/adopt=VALUE vps-operator.dev/adoptt-`. To remove the annotation and let the operator order a ' +
      'server, run `kubectl annotate vps web -n default vps-operator.dev/adoptt-`',
  );
  const both = web({ annotations: { 'vps-operator.dev/team': '', 'vps-operator.dev/owner': '' } });
  expect(advice('UnknownAnnotation', both)).toContain(
    '`kubectl annotate vps web -n default vps-operator.dev/team- vps-operator.dev/owner-`',
  );
});

it('releases an object without a record by one annotation, and a living one by its deletion', () => {
  const gone = `${NOT_CREATED_ANNOTATION}=${web().metadata.uid}\``;
  expect(advice('RecordMissing', web())).toContain(`${gone}. To delete the object then, run \`kubectl delete vps web`);
  expect(advice('RecordMissing', web({ deleting: true }))).toContain(`${gone}; the object is then released`);
  // With a copy of the record, you need no annotation.
  expect(advice('RecordInvalid', web({ annotated: '{' }))).not.toContain(NOT_CREATED_ANNOTATION);
  expect(advice('RecordInvalid', web({ annotated: '{' }), undefined, web().metadata.uid)).toContain(gone);
});

it('keeps no server running while it is unknown which one that is', () => {
  expect(advice('DeletionProtected', web(), ATTEMPTED)).not.toContain('Retain');
  expect(advice('DeletionProtected', web(), HELD)).toContain('Retain');
});

it('gives no server away to objects that you cannot see', () => {
  expect(advice('IdentifierInUse', web(), HELD)).toBe('');
  expect(advice('IdentifierInUse', web(), HELD, 'default/other')).toContain('Retain');
});

it('asks you about a server or a long order if the provider cannot be asked', () => {
  expect(advice('ProviderUnavailable', web({ deleting: true }), HELD)).toContain('server-gone=srv1');
  expect(advice('ProviderUnavailable', web(), HELD)).toBe('');
  expect(advice('ProviderUnavailable', web(), TASKED)).toBe('');
  const attemptedAt = timestamp(NOW - 2 * 3_600_000);
  expect(advice('ProviderUnavailable', web(), { ...TASKED, attemptedAt })).toContain('not-created=a1');
});
