/** Sets the metrics of series.ts: counts reported events, and reads all other values when a page is requested. */
import { CATALOG_SINGULAR, SERVER_SINGULAR, SET_SINGULAR } from '../api/names.ts';
import type { LoopInstruments } from '../controller/instruments.ts';
import type { LoopVitals } from '../controller/vitals.ts';
import type { KubeRequestInfo } from '../kube/http.ts';
import type { VirtualServerSet, VirtualServerSetStatus } from '../api/virtual-server-set.ts';
import type { ServerInstruments } from '../virtual-server/instruments.ts';
import type { Operation } from '../provider/error.ts';
import type { LoginResult } from '../provider/token.ts';
import type { RequestInfo } from '../provider/transport.ts';
import { limitsOf } from '../virtual-server-set/decision/limits.ts';
import { countFleet, countStandings, type Standing } from './fleet.ts';
import type { Page } from './page-server.ts';
import { PROVIDER_RESULTS, providerResult } from './provider-result.ts';
import { createSeries, type Series } from './series.ts';
import type { Vitals } from './vitals.ts';

interface MetricsOptions {
  version: string;
  /** Called for the first instrument that fails; a failing instrument must not disturb the operator. */
  onFault: (error: unknown) => void;
}

/** The values that a metrics page reads. */
export interface Observed {
  vitals: Vitals;
  leads: boolean;
  /** Current time in ms since the epoch. */
  now: number;
}

const LOOPS = [SERVER_SINGULAR, CATALOG_SINGULAR, SET_SINGULAR];
const LEASE = { name: 'vps-operator' };
const VISIT_RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;
const LOGIN_RESULTS: readonly LoginResult[] = ['success', 'refused', 'error'];
const OPERATIONS: readonly Operation[] = [
  'login',
  'products',
  'images',
  'diskSizes',
  'createServer',
  'pollTask',
  'readServer',
  'deleteServer',
];

export class Metrics implements ServerInstruments {
  readonly #series: Series;
  readonly #onFault: (error: unknown) => void;
  #faulty = false;

  constructor({ version, onFault }: MetricsOptions) {
    this.#series = createSeries();
    this.#onFault = onFault;
    this.#begin(version);
  }

  /** The instruments of the controller with this name. */
  loop(name: string): LoopInstruments {
    const controller = { controller: name };
    return {
      keyAdded: () => this.#safely((series) => series.queueAdds.inc({ name })),
      keyRetried: () => this.#safely((series) => series.queueRetries.inc({ name })),
      keyTaken: (waitedMs) => this.#safely((series) => series.queueDuration.observe({ name }, waitedMs / 1000)),
      keyDone: (workedMs) => this.#safely((series) => series.workDuration.observe({ name }, workedMs / 1000)),
      visited: (result, durationMs) =>
        this.#safely((series) => {
          series.reconciles.inc({ ...controller, result });
          if (result === 'error') series.reconcileErrors.inc(controller);
          series.reconcileTime.observe(controller, durationMs / 1000);
        }),
    };
  }

  provisioned(durationMs: number): void {
    this.#safely((series) => series.provisioning.observe(durationMs / 1000));
  }

  serverLost(): void {
    this.#safely((series) => series.lost.inc());
  }

  readonly providerRequest = (info: RequestInfo): void => {
    const { operation, durationMs } = info;
    this.#safely((series) => {
      series.providerRequests.inc({ operation, result: providerResult(info) });
      series.providerDuration.observe({ operation }, durationMs / 1000);
    });
  };

  readonly login = (result: LoginResult): void => {
    this.#safely((series) => series.tokenLogins.inc({ result }));
  };

  readonly kubeRequest = ({ method, status }: KubeRequestInfo): void => {
    const code = status === undefined ? '<error>' : String(status);
    this.#safely((series) => series.restClientRequests.inc({ code, method }));
  };

  async page(observed: Observed): Promise<Page> {
    this.#look(observed);
    const { registry } = this.#series;
    return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
  }

  /** Sets all counters to 0, because a rate needs a sample before the first increment. */
  #begin(version: string): void {
    const series = this.#series;
    for (const name of LOOPS) {
      const controller = { controller: name };
      for (const result of VISIT_RESULTS) series.reconciles.inc({ ...controller, result }, 0);
      series.reconcileErrors.inc(controller, 0);
      series.reconcileTime.zero(controller);
      for (const counter of [series.queueAdds, series.queueRetries]) counter.inc({ name }, 0);
      for (const histogram of [series.queueDuration, series.workDuration]) histogram.zero({ name });
    }
    for (const operation of OPERATIONS) {
      for (const result of PROVIDER_RESULTS) series.providerRequests.inc({ operation, result }, 0);
      series.providerDuration.zero({ operation });
    }
    for (const result of LOGIN_RESULTS) series.tokenLogins.inc({ result }, 0);
    series.restClientRequests.inc({ code: '200', method: 'GET' }, 0);
    series.buildInfo.set({ version }, 1);
  }

  #look({ vitals, leads, now }: Observed): void {
    const series = this.#series;
    series.leader.set(LEASE, leads ? 1 : 0);
    for (const [name, loop] of Object.entries(vitals.loops)) this.#lookAt(name, loop);
    series.pollLag.set(vitals.pollLagMs() / 1000);
    const stretch = vitals.stretch();
    for (const interval of ['poll', 'resync'] as const) series.stretch.set({ interval }, stretch[interval]);
    series.journalBroken.set(vitals.journalBroken ? 1 : 0);
    const fleet = countFleet(vitals.objects(), now);
    setStandings(series.servers, fleet.servers);
    setStandings(series.catalogs, countStandings(vitals.catalogs()));
    setStandings(series.sets, countStandings(vitals.sets()));
    lookAtSets(series, vitals.sets());
    series.price.set(fleet.price);
    series.namespaceServers.reset();
    series.namespacePrice.reset();
    for (const [object_namespace, { servers, price }] of fleet.namespaces) {
      series.namespaceServers.set({ object_namespace }, servers);
      series.namespacePrice.set({ object_namespace }, price);
    }
    series.expiring.set(fleet.expiring);
    series.parkedCreates.set(fleet.parkedCreates);
    series.orphans.set(fleet.orphans);
    series.deleting.set(fleet.deleting);
    series.oldestDeletion.set(fleet.oldestDeletionMs / 1000);
  }

  #lookAt(name: string, { queued, busyForMs, maxWorkers }: LoopVitals): void {
    const series = this.#series;
    const controller = { controller: name };
    series.activeWorkers.set(controller, busyForMs.length);
    series.maxWorkers.set(controller, maxWorkers);
    series.queueDepth.set({ name }, queued);
    series.unfinished.set({ name }, busyForMs.reduce((sum, ms) => sum + ms, 0) / 1000);
    series.longestRunning.set({ name }, Math.max(0, ...busyForMs) / 1000);
  }

  #safely(count: (series: Series) => void): void {
    try {
      count(this.#series);
    } catch (error) {
      if (!this.#faulty) this.#onFault(error);
      this.#faulty = true;
    }
  }
}

const MEMBER_STATES = {
  all: 'replicas',
  ready: 'readyReplicas',
  updated: 'updatedReplicas',
  available: 'availableReplicas',
  terminating: 'terminatingReplicas',
  unresolved: 'unresolvedReplicas',
} as const satisfies Record<string, keyof VirtualServerSetStatus>;

function lookAtSets(series: Series, sets: readonly VirtualServerSet[]): void {
  for (const gauge of [series.setReplicas, series.setMembers, series.setMinAvailable, series.setPrice]) gauge.reset();
  for (const { metadata, spec, status } of sets) {
    const labels = { object_namespace: metadata.namespace, set: metadata.name };
    series.setReplicas.set(labels, spec.replicas);
    series.setMinAvailable.set(labels, limitsOf(spec).available);
    series.setPrice.set(labels, status?.price ?? 0);
    for (const [state, field] of Object.entries(MEMBER_STATES))
      series.setMembers.set({ ...labels, state }, status?.[field] ?? 0);
  }
}

function setStandings(gauge: Series['servers'], standings: readonly Standing[]): void {
  gauge.reset();
  // Keeps the series present when there are no objects.
  gauge.set({ ready: 'True', reason: 'Available' }, 0);
  for (const { ready, reason, count } of standings) gauge.set({ ready, reason }, count);
}
