import { describe, expect, it } from 'vitest';
import { specSchema } from '../../../src/api/virtual-server.ts';
import { goodSpec, invalidSpecs, validSpecs } from '../../fixtures/specs.ts';

const firstIssue = (spec: object) => specSchema.safeParse(spec).error?.issues[0];

/** test/exhaustive/generated-specs.test.ts sends the same specs to the API server. */
describe('the zod schema of a spec', () => {
  it('rejects what the API server rejects, and names the field', () => {
    const wrong = invalidSpecs().filter(({ path, spec }) => {
      const issue = firstIssue(spec);
      const found = ['spec', ...(issue?.path ?? [])].join('.');
      return issue === undefined || found !== path.replaceAll('[', '.').replaceAll(']', '');
    });
    expect(wrong.map(({ path, what, spec }) => [path, what, firstIssue(spec)])).toEqual([]);
  });

  it('accepts what the API server accepts', () => {
    // The API server treats null as a missing field.
    const wrong = validSpecs().filter(({ what, spec }) => what !== 'null' && firstIssue(spec) !== undefined);
    expect(wrong.map(({ path, what, spec }) => [path, what, firstIssue(spec)])).toEqual([]);
  });

  it.each([
    [{ ttl: '1h', expiresAt: '2999-01-01T00:00:00Z' }, 'not both'],
    [{ ttl: '1h', deletionPolicy: 'Retain' }, 'require deletionPolicy: Delete'],
    [{ connectionSecretName: 'vps-api-key' }, 'must differ from the Secrets'],
    [{ connectionSecretName: 'keys', sshKeysFrom: [{ name: 'keys', key: 'me' }] }, 'must differ from the Secrets'],
  ])('rejects fields that conflict with each other: %j', (fields, words) => {
    expect(firstIssue({ ...goodSpec(), ...fields })?.message).toContain(words);
  });

  it.each(['debian-13.qcow2/docker', 'cloudinit-debian-trixie.raw.gz', 'Debian 13', 'x'])(
    'leaves to the provider what an image is called: %s',
    (image) => {
      expect(firstIssue({ ...goodSpec(), image })).toBeUndefined();
    },
  );
});
