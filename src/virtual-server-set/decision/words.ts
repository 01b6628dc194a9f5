/** The messages of a set. Pure. */
import type { SetReason } from '../../api/conditions.ts';
import { PAUSED_ANNOTATION, SET_LABEL } from '../../api/names.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { durationText } from '../../base/duration.ts';
import { ended, quoted } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { slotsOf } from './limits.ts';
import { troubleOf, type Member, type Note } from './member.ts';
import type { Situation } from './situation.ts';

const NAMED = 5;

/** The first few names, and how many there are besides. */
export function list(names: readonly string[]): string {
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const servers = (count: number): string => `${count} ${count === 1 ? 'member' : 'members'}`;

/** A message, and the reason of a member whose message it quotes. */
type Quotation = Pick<Verdict<SetReason>, 'message' | 'quoted'>;

const note = ({ name }: Member, { reason, message }: Note): string => `${name} is ${reason}: ${ended(message)}`;

export function deleting({ set, members, unresolved }: Situation): Quotation {
  if (members.length === 0) return { message: 'The set is being deleted, and has no members left' };
  const [open] = unresolved;
  const held = members.find(({ kept }) => kept === 'protected' || kept === 'paused');
  const first =
    open?.unresolved !== undefined
      ? `. It waits for you: ${note(open, open.unresolved)}`
      : held !== undefined
        ? `. It waits for you: ${held.name} is not deleted, because ${wayOut(set, held)}`
        : '';
  const message =
    `The set is being deleted. Kubernetes deletes its ${servers(members.length)}, and the operator cancels each server ` +
    `by the rules of its member${first}`;
  return { message, quoted: open?.unresolved?.reason };
}

/** The member's own message has the command that resolves it, so it stands alone in front of the names. */
export function unresolved({ set, outdated }: Situation, members: readonly Member[]): Quotation {
  const [first, ...others] = members;
  const own = first?.unresolved === undefined ? '' : note(first, first.unresolved) + abandoned(set, outdated, first);
  const also = others.length === 0 ? '' : ` Also unresolved: ${list(others.map(({ name }) => name))}`;
  const message = `The set orders nothing while a member is unresolved. ${own}${also}`;
  return { message, quoted: first?.unresolved?.reason };
}

/** Without its deletion, an answer that nothing was ordered would order a server that the set then replaces. */
function abandoned({ metadata: { namespace } }: VirtualServerSet, outdated: readonly Member[], member: Member): string {
  if (member.unresolved?.reason !== 'CreateOutcomeUnknown' || !outdated.includes(member)) return '';
  return ` It has an earlier template. If you do not want its server, first run \`kubectl delete vps ${member.name} -n ${namespace} --wait=false\``;
}

/** The member's message is about its own spec, which the next rollout would replace. */
export function blocked({ set, blocked: members }: Situation): Quotation {
  const { name, namespace } = set.metadata;
  const [first, ...others] = members;
  const reason = first?.blocked?.reason;
  const isOfTemplate = reason === 'InvalidSpec' || reason === 'CreateRejected';
  const template = isOfTemplate ? ` Correct spec.template: \`kubectl edit vpsset ${name} -n ${namespace}\`.` : '';
  const own = first?.blocked === undefined ? '' : note(first, first.blocked);
  const also = others.length === 0 ? '' : ` Also blocked: ${list(others.map((other) => other.name))}`;
  const message = `The set creates no further members while one cannot be ordered.${template} ${own}${also}`;
  return { message, quoted: reason };
}

export function nameTaken({ set, taken, missing, members, limits }: Situation): string {
  const { name, namespace } = set.metadata;
  const [first = ''] = taken;
  // The set adopts an object only while fewer than `replicas` slots are filled.
  if (slotsOf(members) >= limits.replicas) {
    const spec = { strategy: { rollingUpdate: { maxUnavailable: 1 } } };
    const patch = `\`kubectl patch vpsset ${name} -n ${namespace} --type merge -p ${quoted(JSON.stringify({ spec }))}\``;
    return (
      `${servers(missing)} to replace, but no name is free for a new one: objects that are not members have ${list(taken)}. ` +
      `To let the set delete a member first, run ${patch}. If you delete ${first} instead, the operator cancels its server, and the set continues`
    );
  }
  const label = `\`kubectl label --overwrite vps ${first} -n ${namespace} ${quoted(`${SET_LABEL}=${name}`)}\``;
  return (
    `${servers(missing)} missing, but objects that are not members have their names: ${list(taken)}. To make ${first} a ` +
    `member, if nothing else controls it, run ${label}. If you delete ${first} instead, the operator cancels its server, and the set continues`
  );
}

export function deletionBlocked({ set, victims: { kept } }: Situation): string {
  const [first, ...others] = kept;
  if (first === undefined) return '';
  const also = others.length > 0 ? ` The same is true of ${list(others.map(({ name }) => name))}` : '';
  return `The set cannot delete member ${first.name}: ${wayOut(set, first)}${also}`;
}

/** Why a member is kept, and the command that ends it. */
function wayOut({ metadata: { namespace } }: VirtualServerSet, { name, kept = 'protected' }: Member): string {
  const patch = (spec: object): string =>
    `\`kubectl patch vps ${name} -n ${namespace} --type merge -p ${quoted(JSON.stringify({ spec }))}\``;
  const ways = {
    protected: `spec.deletionProtection is true. To let the set delete it, run ${patch({ deletionProtection: false })}.`,
    retained: `spec.deletionPolicy is Retain, so its server would keep running outside of the set. To let the set cancel it, run ${patch({ deletionPolicy: 'Delete' })}.`,
    paused: `it is paused. To continue, run \`kubectl annotate vps ${name} -n ${namespace} ${PAUSED_ANNOTATION}-\`.`,
  };
  return ways[kept];
}

/** What the set is waiting for, in one sentence. */
export function progress(situation: Situation): Quotation {
  const { limits, alive, updated, members, isAvailable, rolling, missing, outdated, victims } = situation;
  const parts = rolling
    ? `${updated.length} of ${servers(limits.replicas)} have the current template`
    : `${alive.length} of ${servers(limits.replicas)} exist`;
  const booting = (rolling ? updated : alive).filter((member) => !isAvailable(member));
  const leaving = [...members.filter((member) => member.deleting).map(({ name }) => name), ...situation.leaving];
  const waits = [
    ...(booting.length > 0 ? [`${list(booting.map(({ name }) => name))} to become available`] : []),
    ...(leaving.length > 0 ? [`the cancellation of ${list(leaving)}`] : []),
    ...(victims.postponed.length > 0 ? ['enough available members before the next deletion'] : []),
  ];
  const rest = rolling ? `, ${outdated.length} an earlier one` : missing > 0 ? `, ${missing} missing` : '';
  const text = waits.length === 0 ? `${parts}${rest}` : `${parts}${rest}; waiting for ${waits.join(', and for ')}`;
  const why = delay(situation, booting);
  return why === undefined ? { message: text } : { ...why, message: `${text}. ${why.message}` };
}

/** Why a member takes longer than its server needs to start. */
function delay({ set, unresolved: [open] }: Situation, booting: readonly Member[]): Quotation | undefined {
  if (open !== undefined) return { message: `The set orders nothing until the outcome of ${open.name} is known` };
  const paused = booting.find((member) => member.paused);
  if (paused !== undefined) return { message: `${paused.name} waits: ${wayOut(set, { ...paused, kept: 'paused' })}` };
  const slow = booting.find((member) => troubleOf(member) !== undefined);
  const trouble = slow && troubleOf(slow);
  return slow && trouble && { message: note(slow, trouble), quoted: trouble.reason };
}

export function unavailable({ set, alive, isAvailable }: Situation, worst: Member): Quotation {
  const trouble = troubleOf(worst);
  const count = alive.filter((member) => !isAvailable(member)).length;
  const replace =
    trouble?.reason === 'ServerMissing'
      ? ` To replace it, run \`kubectl delete vps ${worst.name} -n ${set.metadata.namespace}\``
      : '';
  const message = `${servers(count)} not available. ${trouble === undefined ? '' : note(worst, trouble)}${replace}`;
  return { message, quoted: trouble?.reason };
}

export function overdue({ reason, message, quoted }: Verdict<SetReason>, seconds: number): Quotation {
  // The set replaces no member that it has, so it can try nothing.
  const then = reason === 'MembersUnavailable' ? '' : ' The set keeps trying';
  return { message: `No progress for ${durationText(seconds * 1000)}. ${ended(message)}${then}`, quoted };
}

export function available({ limits, outdated }: Situation): string {
  const earlier =
    outdated.length === 0 ? '' : `; ${servers(outdated.length)} with an earlier template, until you delete them`;
  return `${limits.replicas} of ${servers(limits.replicas)} are available${earlier}`;
}

export const PAUSED = 'The set creates, changes and deletes no member while spec.paused is true';
