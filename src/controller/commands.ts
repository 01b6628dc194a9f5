/** What you can do, as data: messages render it as sentences, the plugin as lines to paste into a shell. Pure. */
import {
  ALLOW_DELETION_ANNOTATION,
  GROUP,
  RECORD_ANNOTATION,
  SERVER_SHORT_NAME,
  type SET_SHORT_NAME,
} from '../api/names.ts';
import type { ObjectMeta } from '../api/meta.ts';
import { quoted } from '../base/text.ts';

export interface Advice {
  /** When to run the command; without a command, what to do. */
  text: string;
  command?: Command;
  /** An annotation to remove before the command. */
  without?: string;
  /** What follows, with the punctuation in front of it. */
  then?: string;
}

/** `type` and `name`: if the command is about a different object than the step. */
export type Command = { type?: typeof SERVER_SHORT_NAME | typeof SET_SHORT_NAME; name?: string } & (
  | { verb: 'annotate'; annotation: string; value: string }
  | { verb: 'unannotate'; annotations: readonly string[] }
  /** Sets the right annotation and removes the wrong one in one request: between two, the operator would act. */
  | { verb: 'rename'; wrong: string; right: string }
  | { verb: 'label'; label: string; value: string }
  | { verb: 'patch'; spec: object }
  | { verb: 'edit' }
  | { verb: 'delete'; wait?: false }
  /** Allows that a CustomResourceDefinition is deleted with all its objects. */
  | { verb: 'allowDeletion'; definition: string }
  /** Removes the record from the annotation, so that the operator restores it from status. */
  | { verb: 'removeRecord' }
  /** Removes the record from status, so that the operator restores it from the annotation. */
  | { verb: 'removeMirror' }
);

type Named = { metadata: Pick<ObjectMeta, 'name' | 'namespace'> };

/** The guards (deploy/guards.yaml) let only this group change a record. */
const BREAK_GLASS = `--as=break-glass --as-group=${GROUP}:break-glass`;

/** `own`: the name of the object that the step is about. `where`: flags that select its namespace, such as ` -n team`. */
export function commandLine(command: Command, own: string, where: string): string {
  const object = `${command.type ?? SERVER_SHORT_NAME} ${quoted(command.name ?? own)}${where}`;
  switch (command.verb) {
    case 'annotate':
      // `--overwrite` replaces what an earlier annotation of this name said.
      return `kubectl annotate --overwrite ${object} ${quoted(`${command.annotation}=${command.value}`)}`;
    case 'unannotate':
      return `kubectl annotate ${object} ${command.annotations.map((annotation) => `${annotation}-`).join(' ')}`;
    case 'rename':
      return `kubectl annotate --overwrite ${object} ${command.right}=VALUE ${command.wrong}-`;
    case 'label':
      return `kubectl label --overwrite ${object} ${quoted(`${command.label}=${command.value}`)}`;
    case 'patch':
      return `kubectl patch ${object} --type merge -p ${quoted(JSON.stringify({ spec: command.spec }))}`;
    case 'edit':
      return `kubectl edit ${object}`;
    case 'delete':
      return `kubectl delete ${object}${command.wait === false ? ' --wait=false' : ''}`;
    case 'allowDeletion':
      return `kubectl annotate crd ${command.definition}${where} ${ALLOW_DELETION_ANNOTATION}=true`;
    case 'removeRecord':
      return `kubectl ${BREAK_GLASS} annotate ${object} ${RECORD_ANNOTATION}-`;
    case 'removeMirror': {
      const patch = `--subresource status --type merge -p ${quoted('{"status":{"record":null}}')}`;
      return `kubectl ${BREAK_GLASS} patch ${object} ${patch}`;
    }
  }
}

/** The steps as sentences of a message, with commands in backticks; empty if there are none. */
export function sentences(steps: readonly Advice[], { metadata: { name, namespace } }: Named): string {
  const run = (command: Command): string =>
    `\`${commandLine(command, name, command.verb === 'allowDeletion' ? '' : ` -n ${namespace}`)}\``;
  return steps
    .map(({ text, command, without, then = '' }) => {
      if (command === undefined) return text;
      const first = without === undefined ? '' : `${run(unannotate(without))}, then `;
      return `${text}, run ${first}${run(command)}${then}`;
    })
    .join('. ');
}

/** A step as a line to paste; without a command, the shell ignores the whole line. */
export function withComment(line: string | undefined, text: string): string {
  return `${line === undefined ? '' : `${line}   `}# ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

export const annotate = (annotation: string, value: string): Command => ({ verb: 'annotate', annotation, value });
export const unannotate = (...annotations: string[]): Command => ({ verb: 'unannotate', annotations });
