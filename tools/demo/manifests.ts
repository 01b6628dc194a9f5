/** Reads the demo's manifests from docs/getting-started.md, so the demo shows what users read. */
import { parseAllDocuments } from 'yaml';

interface Manifests {
  /** The page's yaml blocks with an SSH key, by the file name in their first line. */
  files: Record<string, string>;
  /** The API key in the Secret of the first block. */
  key: { keyId: string; secret: string };
}

/** The placeholder in documents and examples. The API server refuses it; a real key would give root access to its owner. */
const KEY_TO_PASTE = 'PASTE-YOUR-OWN-SSH-PUBLIC-KEY';
const OWN_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJm8Vv1FqXkq0pB5k3nq2h3m0iJb8xq5v7o1s2t3u4w5 me@example.org';

/** The text with an SSH public key in it, as readers paste it. For simulated servers only. */
export function withOwnKey(text: string): string {
  return text.replace(KEY_TO_PASTE, OWN_KEY);
}

/** Throws an Error that names what is missing. */
export function readManifests(page: string): Manifests {
  const blocks = [...page.matchAll(/^```yaml\n(# (\S+)\n.*?)^```$/gms)];
  const files = Object.fromEntries(blocks.map(([, text = '', name = '']) => [name, withOwnKey(text)]));
  const objects = parseAllDocuments(blocks[0]?.[1] ?? '').map((document) => document.toJS() as Record<string, unknown>);
  const data = objects.find(({ kind }) => kind === 'Secret')?.stringData as Record<string, unknown> | undefined;
  const { keyId, secret } = data ?? {};
  if (typeof keyId !== 'string' || typeof secret !== 'string') {
    throw new Error('the first yaml block of docs/getting-started.md needs a Secret with keyId and secret');
  }
  return { files, key: { keyId, secret } };
}
