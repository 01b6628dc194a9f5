/** The label selector that kubectl would apply to manifests: expectations are the answers of kubectl 1.36. */
import { describe, expect, it } from 'vitest';
import { labelSelector } from '../../../src/plugin/flags/label-selector.ts';
import { CommandError, EXIT } from '../../../src/plugin/terminal/failure.ts';

describe('a label selector', () => {
  it.each([
    ['team=a', true, false],
    ['team==a', true, false],
    [' team = a ', true, false],
    ['team', true, false],
    ['!team', false, true],
    ['team!=a', false, true],
    ['team=', false, false],
    ['team in (a,b),!x', true, false],
    ['team in (b)', false, false],
    ['team in ()', false, false],
    ['team in (,a)', true, false],
    ['team notin (a)', false, true],
    ['in=a', false, false],
    ['size>1', true, false],
    ['size<1', false, false],
    ['size<3', true, false],
    ['constructor', false, false],
    ['constructor notin (a)', true, true],
    ['team>1', false, false],
    ['example.com/part=x', true, false],
    ['team=a,size=3', false, false],
  ])('%s selects as kubectl does', (text, labelled, bare) => {
    const isSelected = labelSelector(text);
    expect(isSelected({ team: 'a', size: '2', 'example.com/part': 'x' })).toBe(labelled);
    expect(isSelected({})).toBe(bare);
  });

  it.each([
    '',
    ' ',
    'a=b=c',
    'team in a',
    'team=a,',
    ',team=a',
    'team in (a',
    'TEAM/x/y=1',
    'a_/x=1',
    'team=a b',
    '(a)',
    'team>x',
    'size<+3',
    'size>-5',
    'team=ä',
    'ä=a',
    'team=!a',
    '!',
    'team a',
  ])('refuses %j as kubectl does, and an empty one', (text) => {
    const refusal = (): unknown => labelSelector(text);
    expect(refusal).toThrow(CommandError);
    expect(refusal).toThrow(expect.objectContaining({ exitCode: EXIT.usage }) as Error);
    expect(refusal).toThrow(/^--selector/);
  });
});
