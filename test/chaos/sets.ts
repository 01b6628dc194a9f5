/** Scenarios with a VirtualServerSet, and how its requests are labeled and checked. */
import { randomUUID } from 'node:crypto';
import { MEMBER_TEMPLATE_ANNOTATION, SERVER_PLURAL, SET_KIND, SET_PLURAL } from '../../src/api/names.ts';
import type { VirtualServerSpec } from '../../src/api/virtual-server.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { sshKeyOf } from '../fixtures/virtual-server.ts';
import { limitsOf, mostOf } from '../oracles/set-limits.ts';
import { begin } from './acts.ts';
import { jsonAnswer } from './exchange.ts';
import { isOrder, type Request } from './labels.ts';
import type { Scenario, Unusual } from './scenarios.ts';
import type { Stage } from './stage.ts';

const routeOf = ({ path }: Request): string => path.split('?')[0] ?? '';

/** The set's state in a few words for labels, each after a plus sign. */
function stateOfSet({ spec, status, metadata }: VirtualServerSet): string {
  const isCurrent = status?.observedGeneration === metadata.generation;
  const words = [
    `want${spec.replicas}`,
    ...(status?.conditions === undefined ? [] : [`has${status.replicas ?? 0}`, currentReason(status.conditions)]),
    ...(isCurrent ? [] : ['edited']),
  ];
  return words.map((word) => `+${word ?? ''}`).join('');
}

/** The label of a request that only the controller of sets sends; undefined for any other. `state`: of the member. */
export function setLabel(request: Request, set: VirtualServerSet | undefined, state: string): string | undefined {
  const { method, path, body } = request;
  const route = routeOf(request);
  const isWatch = path.includes('watch=true');
  if (route.endsWith(`/${SET_PLURAL}`)) {
    // Without a set, lists and watches of sets are equivalent.
    if (set === undefined) return 'kube:READ-sets';
    return isWatch ? 'kube:WATCH-sets' : 'kube:LIST-sets';
  }
  if (set === undefined) return undefined;
  const suffix = `:set${stateOfSet(set)}`;
  if (route.includes(`/${SET_PLURAL}/`)) return `kube:${method}-set${suffix}`;
  if (route.endsWith(`/${SERVER_PLURAL}`) && !isWatch) return `kube:${method}-members${suffix}`;
  const isMember = method === 'DELETE' || (method === 'PATCH' && 'spec' in (JSON.parse(body) as object));
  return route.includes(`/${SERVER_PLURAL}/`) && isMember ? `kube:${method}-member:${state}${suffix}` : undefined;
}

/** Undefined if the request is not one of the controller of sets. */
export function checkSetWrite(request: Request): string[] | undefined {
  const { method, path, body } = request;
  const route = routeOf(request);
  if (method === 'GET') return undefined;
  if (route.includes(`/${SET_PLURAL}`))
    return method === 'PUT' && route.endsWith('/status') ? [] : [`the operator sent ${method} ${path}`];
  if (method === 'POST' && route.endsWith(`/${SERVER_PLURAL}`)) {
    const { ownerReferences = [] } = (JSON.parse(body) as { metadata: { ownerReferences?: { kind: string }[] } })
      .metadata;
    return ownerReferences[0]?.kind === SET_KIND ? [] : [`${method} ${path} creates an object without a set`];
  }
  if (!route.includes(`/${SERVER_PLURAL}/`)) return undefined;
  if (method === 'PATCH') return checkMemberPatch(request);
  if (method !== 'DELETE') return undefined;
  const { preconditions } = JSON.parse(body) as { preconditions?: { uid?: string; resourceVersion?: string } };
  const isExact = preconditions?.uid !== undefined && preconditions.resourceVersion !== undefined;
  return isExact ? [] : [`${method} ${path} does not name a version`];
}

/** Undefined if the patch is not one of a set, which alone writes spec. */
function checkMemberPatch({ method, path, body }: Request): string[] | undefined {
  const patch = JSON.parse(body) as { metadata?: Record<string, unknown> & { annotations?: object }; spec?: object };
  if (patch.spec === undefined) return undefined;
  const { uid, resourceVersion, annotations = {}, ...others } = patch.metadata ?? {};
  const isExact = uid !== undefined && resourceVersion !== undefined;
  const foreign = [...Object.keys(others).filter((key) => key !== 'labels'), ...Object.keys(annotations)].filter(
    (key) => key !== MEMBER_TEMPLATE_ANNOTATION,
  );
  return [
    ...(isExact ? [] : [`${method} ${path} does not name a version`]),
    ...(foreign.length === 0 ? [] : [`${method} ${path} writes ${foreign.join(', ')} to a member`]),
  ];
}

/** `alive`: how many servers exist when another order arrives; `most`: what the set has allowed at most so far. */
export function checkLimit(alive: number, most: number | undefined): string[] {
  if (most === undefined || alive < most) return [];
  return [`a create arrives although ${alive} servers exist, and the set allows ${most}`];
}

export const allowedBy = ({ spec }: VirtualServerSet): number => mostOf(limitsOf(spec));

/** A different key in each template, so that each server shows the template that it was ordered for. */
export const template = (): { spec: { sshKeys: string[] } } => ({
  spec: { sshKeys: [sshKeyOf(`web-${randomUUID()}`)] },
});

export function isSettled({ objects: { set } }: Stage, replicas: number): boolean {
  const { metadata, status } = set ?? {};
  const isCurrent = status?.observedGeneration === metadata?.generation;
  return isCurrent && currentReason(status?.conditions) === 'Available' && status?.replicas === replicas;
}

export async function settles(stage: Stage, replicas: number): Promise<void> {
  await stage.until(`the set to be Available with ${replicas} replicas`, () => isSettled(stage, replicas));
}

export async function emptied(stage: Stage): Promise<void> {
  await stage.people.editSet({ replicas: 0 });
  await settles(stage, 0);
  if (stage.objects.all().length > 0) stage.violations.push('the set says that it has no members, but it has');
}

const firstOrderIsLost: Unusual = async (exchange, forward, stage) => {
  if (!isOrder(exchange) || stage.simulator.ledger.creates().length > 0) return forward();
  await forward();
  return jsonAnswer(503, {});
};

/** Begins with a set of members that have all settled. */
export async function beginWith(
  stage: Stage,
  members: readonly string[],
  spec: Partial<VirtualServerSpec> = {},
): Promise<void> {
  await begin(stage);
  const own = template();
  await stage.people.applySet('web', { replicas: members.length, template: { spec: { ...own.spec, ...spec } } });
  for (const member of members) await stage.rests(member);
  await settles(stage, members.length);
}

const restarted = () => ({ metadata: { annotations: { [RESTARTED_AT]: new Date().toISOString() } } });

/** The only member is replaced after a change of the template. */
function replaces(change: () => Parameters<Stage['people']['editSet']>[0]['template']): Scenario {
  return {
    async act(stage) {
      await beginWith(stage, ['web-0']);
      await stage.people.editSet({ template: change() });
      await stage.rests('web-1');
      await stage.gone('web-0');
      await settles(stage, 1);
      await emptied(stage);
    },
  };
}

export const SETS: Readonly<Record<string, Scenario>> = {
  'set-scaled': {
    async act(stage) {
      await beginWith(stage, ['web-0']);
      await emptied(stage);
    },
  },
  'set-of-two': {
    async act(stage) {
      await beginWith(stage, ['web-0', 'web-1']);
      await stage.people.editSet({ replicas: 1 });
      await settles(stage, 1);
      await emptied(stage);
    },
  },
  'set-scaled-up': {
    async act(stage) {
      await beginWith(stage, ['web-0']);
      await stage.people.editSet({ replicas: 2 });
      await stage.rests('web-1');
      await settles(stage, 2);
      await emptied(stage);
    },
  },
  'set-rolled-out': replaces(template),
  'set-restarted': replaces(restarted),
  'set-unresolved': {
    provider: firstOrderIsLost,
    async act(stage) {
      stage.peopleLook = false;
      await begin(stage);
      await stage.people.applySet('web', { replicas: 1, template: template() });
      await stage.reaches('web-0', 'CreateOutcomeUnknown');
      // Whatever the set wants now, it orders nothing until the first order is resolved.
      await stage.people.editSet({ template: template() });
      await stage.until(
        'the set to say so',
        () => currentReason(stage.objects.set?.status?.conditions) === 'MemberUnresolved',
      );
      stage.peopleLook = true;
      await stage.rests('web-1');
      await stage.gone('web-0');
      await settles(stage, 1);
      await emptied(stage);
    },
  },
};
