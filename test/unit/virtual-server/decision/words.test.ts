import { expect, it } from 'vitest';
import { adopt } from '../../../../src/virtual-server/decision/commands.ts';
import { namesOf, unknownMessage } from '../../../../src/virtual-server/decision/words.ts';
import { ATTEMPTED, web } from '../../../gen/decision.ts';

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
