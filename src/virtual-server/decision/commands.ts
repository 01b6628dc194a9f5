/** The kubectl commands that advice (advice.ts) suggests, as data, and as text to paste into a shell. Pure. */
import { identifierProblem } from '../../api/identifier.ts';
import { ADOPT_ANNOTATION, ALLOW_DELETION_ANNOTATION, GROUP, RECORD_ANNOTATION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { quoted } from '../../base/text.ts';

export type Command =
  | { verb: 'annotate'; annotation: string; value: string }
  | { verb: 'unannotate'; annotations: readonly string[] }
  /** Sets the right annotation and removes the wrong one in one request: between two, the operator would act. */
  | { verb: 'rename'; wrong: string; right: string }
  /** `name`: of another object, which you choose. */
  | { verb: 'patch'; spec: object; name?: string }
  | { verb: 'edit' }
  | { verb: 'delete' }
  /** Allows that a CustomResourceDefinition is deleted with all its objects. */
  | { verb: 'allowDeletion'; definition: string }
  /** Removes the record from the annotation, so that the operator restores it from status. */
  | { verb: 'removeRecord' }
  /** Removes the record from status, so that the operator restores it from the annotation. */
  | { verb: 'removeMirror' };

/** The guards (deploy/guards.yaml) let only this group change a record. */
const BREAK_GLASS = `--as=break-glass --as-group=${GROUP}:break-glass`;

/** `where`: flags that select the namespace, such as ` -n team`. */
export function commandLine(command: Command, name: string, where: string): string {
  switch (command.verb) {
    case 'annotate': {
      // `--overwrite` replaces what an earlier annotation of this name said.
      const { annotation, value } = command;
      return `kubectl annotate --overwrite vps ${name}${where} ${quoted(`${annotation}=${value}`)}`;
    }
    case 'unannotate':
      return `kubectl annotate vps ${name}${where} ${command.annotations.map((annotation) => `${annotation}-`).join(' ')}`;
    case 'rename':
      return `kubectl annotate --overwrite vps ${name}${where} ${command.right}=VALUE ${command.wrong}-`;
    case 'patch':
      return `kubectl patch vps ${command.name ?? name}${where} --type merge -p ${quoted(JSON.stringify({ spec: command.spec }))}`;
    case 'edit':
    case 'delete':
      return `kubectl ${command.verb} vps ${name}${where}`;
    case 'allowDeletion':
      return `kubectl annotate crd ${command.definition}${where} ${ALLOW_DELETION_ANNOTATION}=true`;
    case 'removeRecord':
      return `kubectl ${BREAK_GLASS} annotate vps ${name}${where} ${RECORD_ANNOTATION}-`;
    case 'removeMirror': {
      const patch = `--subresource status --type merge -p ${quoted('{"status":{"record":null}}')}`;
      return `kubectl ${BREAK_GLASS} patch vps ${name}${where} ${patch}`;
    }
  }
}

export const annotate = (annotation: string, value: string): Command => ({ verb: 'annotate', annotation, value });
export const unannotate = (...annotations: string[]): Command => ({ verb: 'unannotate', annotations });

/** Writes IDENTIFIER where the identifier is unknown, or where the annotation cannot hold it. */
export function adopt(identifier?: string): Command {
  const isUsable = identifier !== undefined && identifierProblem(identifier) === undefined;
  return annotate(ADOPT_ANNOTATION, isUsable ? identifier : 'IDENTIFIER');
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
