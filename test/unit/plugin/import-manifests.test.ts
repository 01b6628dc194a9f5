import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ADOPT_ANNOTATION } from '../../../src/api/names.ts';
import { manifestsOf } from '../../../src/plugin/decisions/import-manifests.ts';
import type { UnheldServer } from '../../../src/plugin/state/orphans.ts';
import type { Manifest } from '../../fixtures/virtual-server.ts';

const server = (changes: Partial<UnheldServer> = {}): UnheldServer => ({
  identifier: 'vs1001',
  product: 'VPSX4',
  state: 'Orphaned',
  unheldSince: '2026-01-01T12:00:00Z',
  catalog: { namespace: 'team', name: 'catalog', secret: 'team-key' },
  ...changes,
});

const parsed = (servers: UnheldServer[], taken: string[] = []): Manifest[] =>
  parseAllDocuments(manifestsOf(servers, taken)).map((document) => document.toJS() as Manifest);

const namesOf = (servers: UnheldServer[], taken: string[] = []): string[] =>
  parsed(servers, taken).map(({ metadata }) => metadata.name);

describe('the manifest of a server', () => {
  it('adopts the server, and keeps it if the object is deleted', () => {
    expect(parsed([server()])).toEqual([
      {
        apiVersion: 'vps-operator.dev/v1alpha1',
        kind: 'VirtualServer',
        metadata: { name: 'vs1001', namespace: 'team', annotations: { [ADOPT_ANNOTATION]: 'vs1001' } },
        spec: {
          apiKeySecretRef: { name: 'team-key' },
          product: 'VPSX4',
          deletionPolicy: 'Retain',
          image: null,
          diskSize: null,
          sshKeys: null,
        },
      },
    ]);
  });

  it.each([undefined, '', 'x'.repeat(1000)])('leaves a product to you that is no product: %j', (product) => {
    expect(parsed([server({ product })])[0]?.spec).toMatchObject({ product: null });
  });

  it('quotes an identifier that YAML would read as a number', () => {
    expect(parsed([server({ identifier: '0x10' })])[0]?.metadata.annotations).toEqual({ [ADOPT_ANNOTATION]: '0x10' });
  });

  it.each(['a\nkind: Secret', 'a\u2028kind: Secret', 'a\u0085kind: Secret', 'a\r\n---\nkind: Secret'])(
    'keeps the name %j at the provider within its comment',
    (name) => {
      const text = manifestsOf([server({ name })], []);
      expect(text.split(/[\n\r\u0085\u2028\u2029]/)[1]).toMatch(/^apiVersion: /);
      expect(parsed([server({ name })])).toHaveLength(1);
    },
  );
});

describe('the name of the object', () => {
  it.each<[string | undefined, string]>([
    ['team/web (1f0c2b7a)', 'web'],
    ['team/git.example (1f0c2b7a)', 'git-example'],
    ['Mail server (old)', 'mail-server-old'],
    ['--', 'vs1001'],
    ['', 'vs1001'],
    [undefined, 'vs1001'],
    ['ÄÖ', 'vs1001'],
    ['x'.repeat(62) + '-yy', 'x'.repeat(62)],
  ])('from %j is %s', (name, expected) => {
    expect(namesOf([server({ name })])).toEqual([expected]);
  });

  it('is a DNS label for any identifier', () => {
    expect(namesOf([server({ identifier: 'VS_1.x' }), server({ identifier: '!!' })])).toEqual(['vs-1-x', 'server']);
  });

  it('is not that of another object, or of another manifest', () => {
    const servers = ['team/web (1f0c2b7a)', 'other/web (0a0b0c0d)', 'web'].map((name) => server({ name }));
    expect(namesOf(servers, ['web', 'web-3'])).toEqual(['web-2', 'web-4', 'web-5']);
    const long = 'x'.repeat(63);
    expect(namesOf([server({ name: long })], [long])).toEqual([`${'x'.repeat(61)}-2`]);
  });
});
