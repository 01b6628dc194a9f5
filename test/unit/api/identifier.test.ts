import { describe, expect, it } from 'vitest';
import { identifierProblem } from '../../../src/api/identifier.ts';

describe('an identifier that a user enters', () => {
  it.each(['vs1001', 'id', 'IDENTIFIER2', '..', 'a/b', 'x'.repeat(253)])('may be %s', (text) => {
    expect(identifierProblem(text)).toBeUndefined();
  });

  it.each(['', 'two words', 'é', 'line\n', 'x'.repeat(254)])('may not be %j, which has an invalid form', (text) => {
    expect(identifierProblem(text)).toBe('an identifier has 1 to 253 visible ASCII characters and no blanks');
  });

  it.each(['IDENTIFIER', 'ID', '<identifier>', '<ID>', 'vs1001>'])('may not be the placeholder %s', (text) => {
    expect(identifierProblem(text)).toBe(`${text} is a placeholder: give the identifier that the provider shows`);
  });
});
