/** Lists of servers for the plugin: which files it accepts, and what it says about the others. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readAdoptions, readServerNames } from '../../../src/plugin/flags/csv.ts';
import { CommandError, EXIT } from '../../../src/plugin/terminal/failure.ts';

const adoptions = (text: string) => readAdoptions(['-'], 'team', Readable.from([text]));

/** The error of a list that is not valid. */
async function refusal(text: string): Promise<[code: number, words: string]> {
  const error = await adoptions(text).catch((reason: unknown) => reason);
  if (!(error instanceof CommandError)) throw new Error(`accepted: ${text}`, { cause: error });
  return [error.exitCode, [error.message, ...error.hints].join('\n')];
}

describe('a list of servers to adopt', () => {
  it('may have its columns in any order, quotes, blanks, a byte order mark and Windows line ends', async () => {
    const text = '\uFEFFname, identifier ,namespace\r\n"web",vs1, shop\r\n\r\ndb,VS2,\r\n';
    expect(await adoptions(text)).toEqual([
      { namespace: 'shop', name: 'web', identifier: 'vs1' },
      { namespace: 'team', name: 'db', identifier: 'VS2' },
    ]);
  });

  it.each([
    ['', /^the first line of --filename - must be namespace,name,identifier; it is empty$/],
    ['namespace,name\na,b\n', /must be namespace,name,identifier; it is "namespace,name"$/],
    ['namespace;name;identifier\na;b;c\n', /must be namespace,name,identifier; it is "namespace;name;identifier"$/],
    ['namespace,name,identifier,name\na,b,c,d\n', /must be namespace,name,identifier/],
    ['namespace,name,identifier\n', /^--filename - has no rows$/],
    ['namespace,name,identifier\na,b\n', /is not valid CSV: .*line 2/],
    ['namespace,name,identifier\na,"b,c\n', /is not valid CSV: .*line/],
    ['namespace,name,identifier\na,b,\n', /^- line 2: an identifier has 1 to/m],
    ['namespace,name,identifier\na,b,IDENTIFIER\n', /^- line 2: IDENTIFIER is a placeholder/m],
    ['namespace,name,identifier\na,../b,vs1\n', /^- line 2: invalid VirtualServer name "\.\.\/b"/m],
    ['namespace,name,identifier\nA,b,vs1\n', /^- line 2: invalid namespace "A"/m],
    ['namespace,name,identifier\n,b,vs1\nteam,b,vs2\n', /^- line 3: object team\/b is also in - line 2$/m],
    ['namespace,name,identifier\na,b,vs1\na,c,VS1\n', /^- line 3: identifier vs1 is also in - line 2$/m],
  ])('is refused: %j', async (text, words) => {
    expect(await refusal(text)).toEqual([EXIT.usage, expect.stringMatching(words)]);
  });

  it('reports all invalid rows, as far as they fit on a screen', async () => {
    const rows = Array.from({ length: 30 }, (_, index) => `a,B${index},vs${index}`);
    const [, words] = await refusal(['namespace,name,identifier', ...rows].join('\n'));
    expect(words.split('\n')).toHaveLength(22);
    expect(words).toMatch(/and 10 more problems$/);
  });
});

describe('a list of servers to start over', () => {
  it('has no identifiers', async () => {
    const input = Readable.from(['namespace,name\nshop,web\n']);
    expect(await readServerNames(['-'], 'team', input)).toMatchObject([{ namespace: 'shop', name: 'web' }]);
  });
});
