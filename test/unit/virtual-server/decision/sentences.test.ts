import { expect, it } from 'vitest';
import { namesOf, unknownMessage } from '../../../../src/virtual-server/decision/sentences.ts';
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
  expect(unknownMessage(ATTEMPTED)).not.toContain('task');
  expect(unknownMessage({ ...ATTEMPTED, hintedTask: 7 })).toContain('. The answer named task 7');
});
