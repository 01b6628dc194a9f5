/** The example of a set, without a number of replicas, and with members that are available as soon as they run. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withOwnKey } from '../../tools/demo/manifests.ts';
import { ROOT } from '../integration/deploy/cluster.ts';

const CHANGES = {
  '  replicas: 3\n': '',
  'minReadySeconds: 60': 'minReadySeconds: 0',
  // The simulated provider has no SSH proxy that answers.
  'sshCheck: Proxy': 'sshCheck: None',
};

export async function setExample(): Promise<string> {
  let text = withOwnKey(await readFile(join(ROOT, 'examples/sets/web.yaml'), 'utf8'));
  for (const [from, to] of Object.entries(CHANGES)) {
    if (!text.includes(from)) throw new Error(`examples/sets/web.yaml has no "${from}"`);
    text = text.replace(from, to);
  }
  return text;
}
