/** The messages of a set. Pure. */
import { sentences, unannotate, type Command, type Advice } from '../../controller/commands.ts';
import type { SetReason } from '../../api/conditions.ts';
import { PAUSED_ANNOTATION, SET_LABEL, SET_SHORT_NAME } from '../../api/names.ts';
import { durationText } from '../../base/duration.ts';
import { ended } from '../../base/text.ts';
import type { Verdict } from '../../controller/conditions.ts';
import { slotsOf } from './limits.ts';
import { troubleOf, type Kept, type Member, type Note } from './member.ts';
import { inOrder, isObstructed, type Situation } from './situation.ts';

const NAMED = 5;

/** The first few names, and how many there are besides. */
export function listNames(names: readonly string[]): string {
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const servers = (count: number): string => `${count} ${count === 1 ? 'member' : 'members'}`;

/** A message with advice, and the reason of a member whose message it quotes. */
type Quotation = Pick<Verdict<SetReason>, 'message' | 'advice' | 'quoted'>;

const note = ({ name }: Member, { reason, message }: Note): string => `${name} is ${reason}: ${ended(message)}`;

const joined = (...parts: (string | undefined)[]): string =>
  parts.flatMap((part) => (part === undefined || part === '' ? [] : ended(part))).join(' ');

export function deleting({ set, members, unresolved }: Situation): Quotation {
  if (members.length === 0) return { message: 'The set is being deleted, and has no members left' };
  const [open] = unresolved;
  const held = members.find(({ kept }) => kept === 'protected' || kept === 'paused');
  const message =
    `The set is being deleted. Kubernetes deletes its ${servers(members.length)}, and the operator cancels each server ` +
    'by the rules of its member';
  if (open?.unresolved !== undefined) {
    const { reason, advice } = open.unresolved;
    return { message: `${message}. It waits for you: ${note(open, open.unresolved)}`, advice, quoted: reason };
  }
  if (held === undefined) return { message };
  const { why, step } = wayOut(held);
  const waits = `It waits for you: ${held.name} is not deleted, because ${why}`;
  return { message: `${message}. ${waits}`, advice: sentences([step], set) };
}

/** The member's own advice has the command that resolves it. */
export function unresolved({ set, outdated }: Situation, members: readonly Member[]): Quotation {
  const [first, ...others] = members;
  const own = first?.unresolved === undefined ? '' : note(first, first.unresolved);
  const also = others.length === 0 ? '' : ` Also unresolved: ${listNames(others.map(({ name }) => name))}`;
  const message = `The set orders nothing while a member is unresolved. ${own}${also}`;
  const advice = first && joined(first.unresolved?.advice, sentences(abandoned(outdated, first), set));
  return { message, advice, quoted: first?.unresolved?.reason };
}

/** Without its deletion, an answer that nothing was ordered would order a server that the set then replaces. */
function abandoned(outdated: readonly Member[], { name, unresolved: open }: Member): Advice[] {
  if (open?.reason !== 'CreateOutcomeUnknown' || !outdated.some((member) => member.name === name)) return [];
  const text = `${name} has an earlier template. If you do not want its server`;
  return [{ text, command: { verb: 'delete', name, wait: false }, then: ' first' }];
}

export function blocked({ set, blocked: members }: Situation): Quotation {
  const [first, ...others] = members;
  const reason = first?.blocked?.reason;
  const isOfTemplate = reason === 'InvalidSpec' || reason === 'CreateRejected';
  const template: Advice = { text: 'To correct spec.template', command: { verb: 'edit', type: SET_SHORT_NAME } };
  const own = first?.blocked === undefined ? '' : note(first, first.blocked);
  const also = others.length === 0 ? '' : ` Also blocked: ${listNames(others.map((other) => other.name))}`;
  const message = `The set creates no further members while one cannot be ordered. ${own}${also}`;
  // The next rollout would replace a spec that you correct in the member.
  return { message, advice: isOfTemplate ? sentences([template], set) : first?.blocked?.advice, quoted: reason };
}

/** A change that the provider refuses never becomes a new server on its own. */
export function stuck(situation: Situation): Quotation {
  const { set, stuck: members } = situation;
  const [first, ...others] = members;
  if (first?.change === undefined) return { message: '' };
  const also = others.length === 0 ? '' : ` The same is true of ${listNames(others.map(({ name }) => name))}`;
  const message =
    'The set changes and replaces no further member while the server of one does not get the values of the template. ' +
    `${note(first, first.change)}${also}`;
  return {
    message,
    advice: joined(first.change.advice, sentences(inPlaceSteps(situation), set)),
    quoted: first.change.reason,
  };
}

const newServerFor = ({ name }: Member): Advice => ({
  text: `To cancel the server of ${name} and order a new one instead`,
  command: { verb: 'delete', name },
});

/** What you can do about a member that keeps the set from continuing with changes in place, besides what the member says. */
export function inPlaceSteps({ stuck: [first], inPlace, changes }: Situation): Advice[] {
  if (first !== undefined) return [newServerFor(first)];
  const spec = { strategy: { rollingUpdate: { maxUnavailable: 1 } } };
  const text = 'To let the set change one member at a time';
  if (changes.postponed.length > 0) return [{ text, command: { verb: 'patch', type: SET_SHORT_NAME, spec } }];
  const member = [...inPlace].find(isObstructed)?.[0];
  return member === undefined ? [] : [newServerFor(member)];
}

/** What keeps the set from changing its members in place. */
export function held(situation: Situation): Quotation {
  const { set, inPlace, changes } = situation;
  const advice = sentences(inPlaceSteps(situation), set);
  const [postponed] = changes.postponed;
  if (postponed !== undefined) {
    const message =
      `The change of ${postponed.name} in place may stop its server (spec.changePolicy AllowStop), and maxUnavailable of ` +
      'the set lets no member be unavailable';
    return { message, advice };
  }
  const [first, ...others] = [...inPlace].filter(isObstructed);
  if (first === undefined) return { message: '' };
  const [member, { obstacle }] = first;
  if (obstacle === undefined && member.change !== undefined) {
    const message =
      `The set neither changes nor replaces ${member.name} while an earlier change of its server may be under way. ` +
      note(member, member.change);
    return { message, advice: joined(member.change.advice, advice), quoted: member.change.reason };
  }
  const also = others.length === 0 ? '' : `. The same is true of ${listNames(others.map(([{ name }]) => name))}`;
  const message =
    `The set cannot change spec.${obstacle?.field ?? ''} of ${member.name} in place, because this member has ` +
    `${obstacle?.why ?? ''}, unlike the template. The set does not replace it on its own${also}`;
  return { message, advice };
}

/** `problem`: of the template, which no member can be ordered from. Nothing is deleted for a member that cannot follow. */
export function refused({ set }: Situation, problem: string): Quotation {
  const message = `No member can be ordered from spec.template: ${problem}. The set orders nothing and replaces no member until that is corrected`;
  const template: Advice = { text: 'To correct spec.template', command: { verb: 'edit', type: SET_SHORT_NAME } };
  return { message, advice: sentences([template], set), quoted: 'InvalidSpec' };
}

export function nameTaken(situation: Situation): Quotation {
  const { set, taken, missing } = situation;
  const message = isFull(situation)
    ? `${servers(missing)} to replace, but no name is free for a new one: objects that are not members have ${listNames(taken)}`
    : `${servers(missing)} missing, but objects that are not members have their names: ${listNames(taken)}`;
  return { message, advice: sentences(takenSteps(situation), set) };
}

/** The set adopts an object only while fewer than `replicas` slots are filled. */
const isFull = ({ members, limits }: Situation): boolean => slotsOf(members) >= limits.replicas;

/** What you can do about an object with the name of a member. */
export function takenSteps(situation: Situation): Advice[] {
  const { set, taken } = situation;
  const [name] = taken;
  if (name === undefined) return [];
  const spec = { strategy: { rollingUpdate: { maxUnavailable: 1 } } };
  const first: Advice = isFull(situation)
    ? { text: 'To let the set delete a member first', command: { verb: 'patch', type: SET_SHORT_NAME, spec } }
    : {
        text: `To make ${name} a member, if nothing else controls it`,
        command: { verb: 'label', name, label: SET_LABEL, value: set.metadata.name },
      };
  const instead = `To cancel the server of ${name} instead`;
  return [first, { text: instead, command: { verb: 'delete', name }, then: '; the set then continues' }];
}

export function deletionBlocked({ set, members, victims: { kept } }: Situation): Quotation {
  // Not in the order in which they would be deleted, which changes with their availability.
  const [first, ...others] = members.filter((member) => kept.includes(member));
  if (first === undefined) return { message: '' };
  const also = others.length > 0 ? `. The same is true of ${listNames(others.map(({ name }) => name))}` : '';
  const { why, step } = wayOut(first);
  return { message: `The set cannot delete member ${first.name}: ${why}${also}`, advice: sentences([step], set) };
}

/** Why a member is kept, and the command that ends it. */
export function wayOut({ name, kept = 'protected' }: Pick<Member, 'name' | 'kept'>): { why: string; step: Advice } {
  const patch = (spec: object): Command => ({ verb: 'patch', name, spec });
  const patchTemplate = (spec: object): Command => ({
    verb: 'patch',
    type: SET_SHORT_NAME,
    spec: { template: { spec } },
  });
  const ways: Record<Kept, { why: string; step: Advice }> = {
    foreign: {
      why: 'its record belongs to another object, so the server that it names would run on without an object',
      step: {
        text: `If you do not want that server here, to delete ${name} and leave the server alone`,
        command: { verb: 'delete', name },
      },
    },
    bare: {
      why: 'the finalizer of the operator is missing, so its server would run on without an object',
      step: { text: `The set deletes ${name} once the operator has added the finalizer again` },
    },
    protected: {
      why: 'spec.deletionProtection is true',
      step: { text: `To let the set delete ${name}`, command: patch({ deletionProtection: false }) },
    },
    retained: {
      why: 'spec.deletionPolicy is Retain, so its server would keep running outside of the set',
      step: { text: `To let the set cancel the server of ${name}`, command: patch({ deletionPolicy: 'Delete' }) },
    },
    paused: {
      why: 'it is paused',
      step: { text: `To continue ${name}`, command: { ...unannotate(PAUSED_ANNOTATION), name } },
    },
    toProtect: {
      why: 'deletionProtection of the template is true, and the operator has yet to write it to the member',
      step: { text: `To let the set delete ${name}`, command: patchTemplate({ deletionProtection: false }) },
    },
    toRetain: {
      why: 'deletionPolicy of the template is Retain, and the operator has yet to write it to the member',
      step: {
        text: `To let the set cancel the server of ${name}`,
        command: patchTemplate({ deletionPolicy: 'Delete' }),
      },
    },
    toDelay: {
      why: 'the operator has yet to write the longer deletionDelay of the template to the member',
      step: { text: `The set deletes ${name} once its deletionDelay is that of the template` },
    },
  };
  return ways[kept];
}

/** What the set is waiting for, in one sentence. */
export function progress(situation: Situation): Quotation {
  const {
    set,
    limits,
    alive,
    updated,
    changing,
    inPlace,
    members,
    isAvailable,
    rolling,
    missing,
    outdated,
    victims,
    changes,
    restsUntil,
  } = situation;
  const { replicas } = limits;
  const exist =
    alive.length > replicas
      ? `${servers(alive.length)} exist, ${replicas} wanted`
      : `${alive.length} of ${replicas} members exist`;
  const parts = rolling ? `${updated.length} of ${replicas} members have the current template` : exist;
  const staying = alive.filter(
    (member) => !outdated.includes(member) || changing.includes(member) || inPlace.has(member),
  );
  const booting = (rolling ? staying : alive).filter((member) => !isAvailable(member));
  const leaving = [...members.filter((member) => member.deleting).map(({ name }) => name), ...situation.leaving].sort(
    (a, b) => inOrder(set.metadata.name, a, b),
  );
  const open = [...inPlace].flatMap(([{ name }, way]) => (way.waits === true ? [name] : []));
  const kept = (as: Kept): string[] =>
    members.filter((member) => member.kept === as && victims.kept.includes(member)).map(({ name }) => name);
  const [bare, delayed] = [kept('bare'), kept('toDelay')];
  const waits = [
    ...(changing.length > 0 ? [`the change of ${listNames(changing.map(({ name }) => name))} in place`] : []),
    ...(open.length > 0 ? [`the end of an earlier change of ${listNames(open)}`] : []),
    ...(booting.length > 0 ? [`${listNames(booting.map(({ name }) => name))} to become available`] : []),
    ...(leaving.length > 0 ? [`the cancellation of ${listNames(leaving)}`] : []),
    ...(bare.length > 0 ? [`the finalizer of ${listNames(bare)}`] : []),
    ...(delayed.length > 0 ? [`the longer deletionDelay of ${listNames(delayed)}`] : []),
    ...(victims.postponed.length > 0 ? ['enough available members before the next deletion'] : []),
    ...(changes.postponed.length > 0 ? ['enough available members before the next change'] : []),
    ...(restsUntil === undefined ? [] : ['minReadySeconds before the next change']),
  ];
  const rest = rolling ? `, ${outdated.length} an earlier one` : missing > 0 ? `, ${missing} missing` : '';
  const text = waits.length === 0 ? `${parts}${rest}` : `${parts}${rest}; waiting for ${waits.join(', and for ')}`;
  const why = delay(situation, booting);
  return why === undefined ? { message: text } : { ...why, message: `${text}. ${why.message}` };
}

/** Why a member takes longer than its server needs to start. */
function delay({ set, changing, unresolved: [open] }: Situation, booting: readonly Member[]): Quotation | undefined {
  if (open !== undefined) return { message: `The set orders nothing until the outcome of ${open.name} is known` };
  const paused = booting.find((member) => member.paused);
  if (paused !== undefined) {
    const { why, step } = wayOut({ name: paused.name, kept: 'paused' });
    return { message: `${paused.name} waits: ${why}`, advice: sentences([step], set) };
  }
  const slow = booting.find((member) => troubleOf(member) !== undefined);
  const [changed] = changing.filter(({ change }) => change !== undefined);
  if (slow === undefined && changed?.change !== undefined) return { message: note(changed, changed.change) };
  const trouble = slow && troubleOf(slow);
  return slow && trouble && { message: note(slow, trouble), advice: trouble.advice, quoted: trouble.reason };
}

export function unavailable({ set, alive, isAvailable }: Situation, worst: Member): Quotation {
  const trouble = troubleOf(worst);
  const count = alive.filter((member) => !isAvailable(member)).length;
  const advice =
    trouble?.reason === 'ServerMissing'
      ? sentences([{ text: 'To replace it', command: { verb: 'delete', name: worst.name } }], set)
      : trouble?.advice;
  const message = `${servers(count)} not available. ${trouble === undefined ? '' : note(worst, trouble)}`;
  return { message, advice, quoted: trouble?.reason };
}

export function overdue({ reason, message, advice, quoted }: Verdict<SetReason>, seconds: number): Quotation {
  // The set replaces no member that it has, so it can try nothing.
  const then = reason === 'MembersUnavailable' ? '' : ' The set keeps trying';
  return { message: `No progress for ${durationText(seconds * 1000)}. ${ended(message)}${then}`, advice, quoted };
}

export function available({ limits, outdated, changing }: Situation): string {
  const left = outdated.length - changing.length;
  const earlier = left === 0 ? '' : `; ${servers(left)} with an earlier template, until you delete them`;
  return `${limits.replicas} of ${limits.replicas} members are available${earlier}`;
}

export const PAUSED = 'The set creates, changes and deletes no member while spec.paused is true';
