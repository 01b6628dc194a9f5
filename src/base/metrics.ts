/**
 * The metrics of an operator. Each is defined once, next to the code that counts it; each operator in a process has
 * separate values.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The type parameter is the names of the labels. */
export interface MetricDefinition<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

export interface HistogramDefinition<L extends string> extends MetricDefinition<L> {
  /** Upper bounds, in increasing order. */
  readonly buckets: number[];
}

export type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Sample {
  labels: Labels<string>;
  value: number;
}

/** A value that only grows. */
export const counter = <L extends string = never>(name: string, help: string, ...labels: L[]): MetricDefinition<L> => ({
  name,
  help,
  labels,
});

/** How long, or how large, each of many things was. */
export const histogram = <L extends string = never>(
  name: string,
  help: string,
  buckets: number[],
  ...labels: L[]
): HistogramDefinition<L> => ({ name, help, labels, buckets });

/** No call throws: a metric that fails must not disturb the operator. */
export class Metrics {
  readonly registry = new Registry();
  readonly #counters = new Map<object, Counter>();
  readonly #histograms = new Map<object, Histogram>();
  readonly #gauges = new Map<object, Gauge>();
  readonly #onFault: (error: unknown) => void;
  #faulty = false;

  /** `onFault` is called for the first metric that fails. */
  constructor(onFault: (error: unknown) => void = () => undefined) {
    this.#onFault = onFault;
  }

  /** Begins a counter or a histogram at 0, because a rate needs a sample before the first increment. */
  begin<L extends string>(definition: MetricDefinition<L> | HistogramDefinition<L>, labels: Labels<L>): void {
    this.#safely(() => {
      if ('buckets' in definition) this.#histogram(definition).zero(labels);
      else this.#counter(definition).inc(labels, 0);
    });
  }

  add<L extends string>(definition: MetricDefinition<L>, labels: Labels<L>): void {
    this.#safely(() => this.#counter(definition).inc(labels));
  }

  observe<L extends string>(definition: HistogramDefinition<L>, labels: Labels<L>, value: number): void {
    this.#safely(() => this.#histogram(definition).observe(labels, value));
  }

  /** Shows exactly these samples of a gauge. */
  show(definition: MetricDefinition<string>, samples: readonly Sample[]): void {
    this.#safely(() => {
      const gauge = this.#gauge(definition);
      gauge.reset();
      for (const { labels, value } of samples) gauge.set(labels, value);
    });
  }

  #counter(definition: MetricDefinition<string>): Counter {
    const known = this.#counters.get(definition) ?? new Counter(this.#configuration(definition));
    this.#counters.set(definition, known);
    return known;
  }

  #histogram(definition: HistogramDefinition<string>): Histogram {
    const { buckets } = definition;
    const known = this.#histograms.get(definition) ?? new Histogram({ ...this.#configuration(definition), buckets });
    this.#histograms.set(definition, known);
    return known;
  }

  #gauge(definition: MetricDefinition<string>): Gauge {
    const known = this.#gauges.get(definition) ?? new Gauge(this.#configuration(definition));
    this.#gauges.set(definition, known);
    return known;
  }

  #configuration({ name, help, labels }: MetricDefinition<string>) {
    return { name, help, labelNames: labels, registers: [this.registry] };
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!this.#faulty) this.#onFault(error);
      this.#faulty = true;
    }
  }
}
