import { describe, expect, it } from 'vitest';
import { specSchema } from '../../../src/api/virtual-server.ts';
import { goodSpec, invalidSpecs, validSpecs } from '../../gen/specs.ts';

const firstIssue = (spec: object) => specSchema.safeParse(spec).error?.issues[0];

/** test/exhaustive/generated-specs.test.ts asks the API server about the same specs. */
describe('a spec that is parsed', () => {
  it('is refused where the API server refuses it, with the field', () => {
    const wrong = invalidSpecs().filter(({ path, spec }) => {
      const issue = firstIssue(spec);
      const found = ['spec', ...(issue?.path ?? [])].join('.');
      return issue === undefined || found !== path.replaceAll('[', '.').replaceAll(']', '');
    });
    expect(wrong.map(({ path, what, spec }) => [path, what, firstIssue(spec)])).toEqual([]);
  });

  it('is taken where the API server takes it', () => {
    // The API server takes a null for a field that is left out.
    const wrong = validSpecs().filter(({ what, spec }) => what !== 'null' && firstIssue(spec) !== undefined);
    expect(wrong.map(({ path, what, spec }) => [path, what, firstIssue(spec)])).toEqual([]);
  });

  it.each([
    [{ ttl: '1h', expiresAt: '2999-01-01T00:00:00Z' }, 'not both'],
    [{ ttl: '1h', deletionPolicy: 'Retain' }, 'need deletionPolicy: Delete'],
    [{ connectionSecretName: 'vps-api-key' }, 'a Secret of its own'],
    [{ connectionSecretName: 'keys', sshKeysFrom: [{ name: 'keys', key: 'me' }] }, 'a Secret of its own'],
  ])('is refused for what two fields say together: %j', (fields, words) => {
    expect(firstIssue({ ...goodSpec(), ...fields })?.message).toContain(words);
  });
});
