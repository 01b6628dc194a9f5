/** Commands that a message gives the reader to paste; backticks enclose them. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { quoted } from '../../base/shell.ts';

type Named = Pick<VirtualServer, 'metadata'>;

/** `--overwrite` replaces what an earlier annotation of this name said. */
export function annotate({ metadata: { name, namespace } }: Named, annotation: string, value: string): string {
  return `\`kubectl annotate --overwrite vps ${name} -n ${namespace} ${quoted(`${annotation}=${value}`)}\``;
}

export function patchSpec({ metadata: { name, namespace } }: Named, spec: object): string {
  return `\`kubectl patch vps ${name} -n ${namespace} --type merge -p ${quoted(JSON.stringify({ spec }))}\``;
}
