/** Takes the manifest of the demo out of README.md, so that what is shown is what people read. */
import { parseAllDocuments } from 'yaml';
import { API_VERSION, KIND } from '../../api/names.ts';

export interface DemoManifest {
  /** The block as it stands in the README. */
  text: string;
  /** Of the VirtualServer. */
  name: string;
  keyId: string;
  secret: string;
}

/** The first yaml block, with the one VirtualServer and the Secret in it. Throws an Error that says what is missing. */
export function readManifest(readme: string): DemoManifest {
  const text = /^```yaml\n(.*?)^```$/ms.exec(readme)?.[1];
  if (text === undefined) throw new Error('README.md has no yaml block');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Record<string, unknown>);
  const secret = objects.find((object) => object.kind === 'Secret')?.stringData as Record<string, unknown> | undefined;
  const server = objects.find((object) => object.kind === KIND && object.apiVersion === API_VERSION);
  const name = (server?.metadata as { name?: unknown } | undefined)?.name;
  if (typeof secret?.keyId !== 'string' || typeof secret.secret !== 'string' || typeof name !== 'string') {
    throw new Error(`the first yaml block of README.md needs a Secret with keyId and secret, and a ${KIND}`);
  }
  return { text, name, keyId: secret.keyId, secret: secret.secret };
}
