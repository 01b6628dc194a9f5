import { describe, expect, it } from 'vitest';
import { isAbout, logLineOf } from '../../../src/plugin/state/operator-log.ts';
import type { Target } from '../../../src/plugin/flags/target.ts';

const web: Target = { kind: 'server', name: 'web' };
const set: Target = { kind: 'set', name: 'web' };

describe('a line of the log', () => {
  it.each<[string, object, Target[]]>([
    ['a step of a server', { namespace: 'team', name: 'web', step: 'look' }, [web]],
    ['a failed visit to a server', { controller: 'virtualserver', key: 'team/web' }, [web]],
    ['a failed visit to a set', { controller: 'virtualserverset', key: 'team/web' }, [set]],
    ['a failed visit to a catalog of the same name', { controller: 'servercatalog', key: 'team/web' }, []],
    ['an Event of a set that was not written', { kind: 'VirtualServerSet', namespace: 'team', name: 'web' }, [set]],
    ['what a set did to a member', { set: 'team/all', member: 'web' }, [web]],
    ['what the set did to a member', { set: 'team/web', member: 'web-0' }, [set]],
    ['the orders that are not recorded yet', { objects: ['team/db', 'team/web'] }, [web]],
    ['a server of another namespace', { namespace: 'other', name: 'web' }, []],
    ['a server whose name begins the same', { namespace: 'team', name: 'web-2' }, []],
    ['a member of another namespace', { set: 'other/all', member: 'web' }, []],
    ['no object', { msg: 'operator starts' }, []],
  ])('with %s is about exactly its objects', (_what, line, about) => {
    const fields = line as Record<string, unknown>;
    expect([web, set].filter((target) => isAbout(fields, target, 'team'))).toEqual(about);
  });

  it.each(['', 'text', '(node:1) Warning: x', '7', 'null', '{"level":'])('is none if it is %j', (text) => {
    expect(logLineOf(text)).toBeUndefined();
  });
});
