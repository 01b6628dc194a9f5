/** Commands that a message gives the reader to paste; backticks enclose them. Pure. */
import { identifierProblem } from '../../api/identifier.ts';
import { ADOPT_ANNOTATION, GROUP, RECORD_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { quoted } from '../../base/text.ts';

type Named = { metadata: Pick<VirtualServer['metadata'], 'name' | 'namespace'> };

/** `--overwrite` replaces what an earlier annotation of this name said. */
export function annotate({ metadata: { name, namespace } }: Named, annotation: string, value: string): string {
  return `\`kubectl annotate --overwrite vps ${name} -n ${namespace} ${quoted(`${annotation}=${value}`)}\``;
}

export function unannotate({ metadata: { name, namespace } }: Named, ...annotations: string[]): string {
  return `\`kubectl annotate vps ${name} -n ${namespace} ${annotations.map((annotation) => `${annotation}-`).join(' ')}\``;
}

/** Sets the right annotation and removes the wrong one in one request: between two, the operator would act. */
export function renameAnnotation({ metadata: { name, namespace } }: Named, wrong: string, right: string): string {
  return `\`kubectl annotate --overwrite vps ${name} -n ${namespace} ${right}=VALUE ${wrong}-\``;
}

/** The guards (deploy/guards.yaml) let only this group change a record. */
const BREAK_GLASS = `--as=break-glass --as-group=${GROUP}:break-glass`;

/** Removes the record from the annotation, so that the operator restores it from status. */
export function removeRecord({ metadata: { name, namespace } }: Named): string {
  return `\`kubectl ${BREAK_GLASS} annotate vps ${name} -n ${namespace} ${RECORD_ANNOTATION}-\``;
}

/** Removes the record from status, so that the operator restores it from the annotation. */
export function removeMirror({ metadata: { name, namespace } }: Named): string {
  const patch = `--subresource status --type merge -p ${quoted('{"status":{"record":null}}')}`;
  return `\`kubectl ${BREAK_GLASS} patch vps ${name} -n ${namespace} ${patch}\``;
}

/** Writes IDENTIFIER where the identifier is unknown, or where the annotation cannot hold it. */
export function adopt(object: Named, identifier?: string): string {
  const isUsable = identifier !== undefined && identifierProblem(identifier) === undefined;
  return annotate(object, ADOPT_ANNOTATION, isUsable ? identifier : 'IDENTIFIER');
}

export function patchSpec({ metadata: { name, namespace } }: Named, spec: object): string {
  return `\`kubectl patch vps ${name} -n ${namespace} --type merge -p ${quoted(JSON.stringify({ spec }))}\``;
}

/** The change of spec that lets the object be deleted and keeps the server. The API server accepts no expiry beside it. */
export function retainedSpec({ spec: { deletionProtection, ttl, expiresAt } }: Pick<VirtualServer, 'spec'>): object {
  return {
    deletionPolicy: 'Retain',
    ...(deletionProtection && { deletionProtection: false }),
    ...(ttl !== undefined && { ttl: null }),
    ...(expiresAt !== undefined && { expiresAt: null }),
  };
}

export function remove({ metadata: { name, namespace } }: Named): string {
  return `\`kubectl delete vps ${name} -n ${namespace}\``;
}

export function edit({ metadata: { name, namespace } }: Named): string {
  return `\`kubectl edit vps ${name} -n ${namespace}\``;
}
