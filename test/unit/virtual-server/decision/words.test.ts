import { expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../../src/api/names.ts';
import { adopt } from '../../../../src/virtual-server/decision/commands.ts';
import {
  namesOf,
  protectedMessage,
  resolveAdvice,
  unknownMessage,
} from '../../../../src/virtual-server/decision/words.ts';
import { ATTEMPTED, web } from '../../../fixtures/decision.ts';

it.each([
  { holders: ['default/a'], names: 'default/a' },
  { holders: ['default/a', 'default/b'], names: 'default/a, default/b' },
  { holders: ['other/a'], names: 'an object in another namespace' },
  { holders: ['default-2/a'], names: 'an object in another namespace' },
  { holders: ['other/a', 'default/b', 'third/c'], names: 'default/b, 2 objects in other namespaces' },
])("names only objects of the reader's namespace: $holders", ({ holders, names }) => {
  expect(namesOf(holders, web())).toBe(names);
});

it('names the task that a lost answer hints at, where there was one', () => {
  expect(unknownMessage(web(), ATTEMPTED)).not.toContain('task');
  expect(unknownMessage(web(), { ...ATTEMPTED, hintedTask: 7 })).toContain('The answer named task 7.');
});

it.each([
  ['srv1', '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=srv1`'],
  ['srv;1', "`kubectl annotate --overwrite vps web -n default 'vps-operator.dev/adopt=srv;1'`"],
  ['no identifier', '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=IDENTIFIER`'],
  ['x'.repeat(300), '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=IDENTIFIER`'],
])('gives a command that adopts %s only if the annotation can name it', (identifier, command) => {
  expect(adopt(web(), identifier)).toBe(command);
});

it('keeps the server of a protected object with an expiry by one patch that the API server accepts', () => {
  const object = web({ spec: { deletionProtection: true, ttl: '72h' } });
  expect(protectedMessage(object)).toContain(
    `-p '{"spec":{"deletionPolicy":"Retain","deletionProtection":false,"ttl":null}}'`,
  );
});

it('says that an annotation to adopt keeps the operator from ordering again', () => {
  const advice = 'the operator then orders again';
  expect(resolveAdvice(web(), ATTEMPTED)).toContain(advice);
  const adopting = web({ annotations: { [ADOPT_ANNOTATION]: 'srv2' } });
  expect(resolveAdvice(adopting, ATTEMPTED)).not.toContain(advice);
  expect(resolveAdvice(adopting, ATTEMPTED)).toContain('once you remove the annotation adopt as well');
});
