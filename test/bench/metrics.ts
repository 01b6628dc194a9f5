/** Counts the requests that the API server has answered, from its metrics. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SERVER_PLURAL, SET_PLURAL } from '../../src/api/names.ts';

const run = promisify(execFile);

/** `VERB resource[/subresource]` to number of requests, for VirtualServers, VirtualServerSets and Events. */
export type RequestCounts = Map<string, number>;

export async function countRequests(at: { kubectl: string; kubeconfigPath: string }): Promise<RequestCounts> {
  const args = ['--kubeconfig', at.kubeconfigPath, 'get', '--raw', '/metrics'];
  const { stdout } = await run(at.kubectl, args, { maxBuffer: 256 * 1024 * 1024 });
  const counts: RequestCounts = new Map();
  for (const [, labels = '', value = ''] of stdout.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const label = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (![SERVER_PLURAL, SET_PLURAL, 'events'].includes(label('resource'))) continue;
    const subresource = label('subresource');
    const name = `${label('verb')} ${label('resource')}${subresource && `/${subresource}`}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(value));
  }
  return counts;
}

export function difference(after: RequestCounts, before: RequestCounts): RequestCounts {
  return new Map([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const));
}
