/** The flags of `kubectl vps new --set` for the fields of a set, and what they make of its spec. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { setSpecSchema, type VirtualServerSetSpec } from '../../api/virtual-server-set.ts';
import { replicasOf } from './arguments.ts';

export interface SetFlags {
  replicas?: number | undefined;
  maxSurge?: number | string | undefined;
  maxUnavailable?: number | string | undefined;
  strategy?: string | undefined;
  minReadySeconds?: number | undefined;
  progressDeadlineSeconds?: number | undefined;
  scaleDownOrder?: string | undefined;
  paused: boolean;
}

const { strategy, scaleDown } = setSpecSchema.shape;

export function addSetFlags(command: Command): Command {
  return command
    .option('--replicas <number>', 'with --set: how many servers you want (default: 1)', replicasOf)
    .option('--max-surge <amount>', 'with --set: how many servers a rollout adds, such as 1 or 25%', amountOf)
    .option('--max-unavailable <amount>', 'with --set: how many members a rollout may lack, such as 1 or 25%', amountOf)
    .addOption(
      new Option('--strategy <type>', 'with --set: how a changed template reaches the members').choices(
        strategy.unwrap().shape.type.unwrap().options,
      ),
    )
    .option('--min-ready-seconds <number>', 'with --set: when a ready member counts as available', countOf)
    .option('--progress-deadline-seconds <number>', 'with --set: when a set without progress is Stalled', countOf)
    .addOption(
      new Option('--scale-down-order <order>', 'with --set: which members it deletes first').choices(
        scaleDown.unwrap().shape.order.unwrap().options,
      ),
    )
    .option('--paused', 'with --set: create the set paused', false);
}

/** The compiler demands a line here for every field of spec. */
const FIELDS: { [F in keyof Omit<Required<VirtualServerSetSpec>, 'template'>]: (flags: SetFlags) => unknown } = {
  replicas: ({ replicas }) => replicas,
  minReadySeconds: ({ minReadySeconds }) => minReadySeconds,
  strategy: ({ strategy: type, maxSurge, maxUnavailable }) =>
    given({ type, rollingUpdate: given({ maxSurge, maxUnavailable }) }),
  scaleDown: ({ scaleDownOrder: order }) => given({ order }),
  paused: ({ paused }) => (paused ? true : undefined),
  progressDeadlineSeconds: ({ progressDeadlineSeconds }) => progressDeadlineSeconds,
};

/** By attribute. */
const SPELLED: { [F in keyof Required<SetFlags>]: string } = {
  replicas: '--replicas',
  maxSurge: '--max-surge',
  maxUnavailable: '--max-unavailable',
  strategy: '--strategy',
  minReadySeconds: '--min-ready-seconds',
  progressDeadlineSeconds: '--progress-deadline-seconds',
  scaleDownOrder: '--scale-down-order',
  paused: '--paused',
};

/** By the field of spec that the flag sets. */
export const SET_FLAGS: Readonly<Record<string, string>> = { ...SPELLED, order: SPELLED.scaleDownOrder };

/** A flag for sets that is given. */
export function setFlagIn(flags: SetFlags): string | undefined {
  return Object.entries(SPELLED).find(([name]) => flags[name as keyof SetFlags])?.[1];
}

/** The fields that flags set, without the template: not checked yet. */
export function setSpecFrom(flags: SetFlags): Record<string, unknown> {
  const values = Object.entries(FIELDS).map(([field, valueFrom]) => [field, valueFrom(flags)]);
  return given(Object.fromEntries(values) as Record<string, unknown>) ?? {};
}

/** Without the undefined values; undefined if there are no others. */
function given(values: Record<string, unknown>): Record<string, unknown> | undefined {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function amountOf(text: string): number | string {
  return text.endsWith('%') ? text : countOf(text);
}

function countOf(text: string): number {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(text)) throw new InvalidArgumentError('Use a whole number, such as 60.');
  return Number(text);
}
