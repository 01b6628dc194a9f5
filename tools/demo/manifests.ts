/** Reads the demo's manifests from docs/getting-started.md, so the demo shows what users read. */
import { parseAllDocuments } from 'yaml';

interface Manifests {
  /** The page's yaml blocks, unchanged, by the file name in their first line. */
  files: Record<string, string>;
  /** The API key in the Secret of the first block. */
  key: { keyId: string; secret: string };
}

/** Throws an Error that names what is missing. */
export function readManifests(page: string): Manifests {
  const blocks = [...page.matchAll(/^```yaml\n(# (\S+)\n.*?)^```$/gms)];
  const files = Object.fromEntries(blocks.map(([, text = '', name = '']) => [name, text]));
  const objects = parseAllDocuments(blocks[0]?.[1] ?? '').map((document) => document.toJS() as Record<string, unknown>);
  const data = objects.find(({ kind }) => kind === 'Secret')?.stringData as Record<string, unknown> | undefined;
  const { keyId, secret } = data ?? {};
  if (typeof keyId !== 'string' || typeof secret !== 'string') {
    throw new Error('the first yaml block of docs/getting-started.md needs a Secret with keyId and secret');
  }
  return { files, key: { keyId, secret } };
}
