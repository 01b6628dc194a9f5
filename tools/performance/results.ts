/** Results of benchmarks: what `npm run bench -- --json` writes, one entry for each run of one program. */
import * as z from 'zod';

const cpu = z.object({ apiserver: z.number(), etcd: z.number() });
const resultSchema = z.object({
  /** `limit`: the bare writes without any operator. */
  peer: z.string().min(1),
  /** Number of servers. */
  n: z.int().min(1),
  at: z.iso.datetime(),
  /** From the first create to the last Ready, and from the first DELETE to the last object gone (s). */
  readySeconds: z.number(),
  goneSeconds: z.number(),
  /** User and system time of the program (s). */
  operatorCpu: z.object({ ready: z.number(), idle: z.number().optional(), gone: z.number() }).optional(),
  /** Peak of the resident memory. */
  peakRssMb: z.number().optional(),
  /** From the create of one object to its order at the provider. */
  singleReactionMs: z.object({ p50: z.number().optional() }).optional(),
  api: z.object({ writesPerObject: z.number() }).optional(),
  phases: z.array(z.object({ name: z.string(), cpu })).default([]),
});
const resultsSchema = z.array(resultSchema);
export type Result = z.input<typeof resultSchema>;
type Run = z.infer<typeof resultSchema>;

/** The medians over all runs of one program with as many servers. Undefined: not measured. */
export interface Figures {
  peer: string;
  n: number;
  readySeconds: number;
  goneSeconds: number;
  cpuMsPerServer?: number | undefined;
  /** CPU of API server and etcd together. */
  controlPlaneMsPerServer?: number | undefined;
  peakMemoryMb?: number | undefined;
  singleMs?: number | undefined;
  writesPerServer?: number | undefined;
  runs: number;
}

/** Throws an Error that names the first field that is wrong. */
export function parseResults(text: string): Run[] {
  const parsed = resultsSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  return parsed.data;
}

/** In the order of the first run of each program, and of the number of servers. */
export function figuresOf(results: readonly Run[]): Figures[] {
  const peers = [...new Set(results.map(({ peer }) => peer))];
  return peers.flatMap((peer) => {
    const own = results.filter((result) => result.peer === peer);
    const sizes = [...new Set(own.map(({ n }) => n))].sort((a, b) => a - b);
    return sizes.map((n) =>
      medians(
        peer,
        n,
        own.filter((result) => result.n === n),
      ),
    );
  });
}

function medians(peer: string, n: number, runs: Run[]): Figures {
  const of = (value: (run: Run) => number | undefined): number | undefined =>
    median(runs.map(value).filter((number) => number !== undefined));
  return {
    peer,
    n,
    readySeconds: of(({ readySeconds }) => readySeconds) ?? 0,
    goneSeconds: of(({ goneSeconds }) => goneSeconds) ?? 0,
    cpuMsPerServer: of(({ operatorCpu: cpu }) => cpu && (1000 * (cpu.ready + (cpu.idle ?? 0) + cpu.gone)) / n),
    controlPlaneMsPerServer: of(controlPlaneMs),
    peakMemoryMb: of(({ peakRssMb }) => peakRssMb),
    singleMs: of(({ singleReactionMs }) => singleReactionMs?.p50),
    writesPerServer: of(({ api }) => api?.writesPerObject),
    runs: runs.length,
  };
}

/** The operator completes some annotations only after all servers are Ready. */
const WORK = ['ready', 'idle', 'gone'];

function controlPlaneMs({ n, phases }: Run): number | undefined {
  const busy = phases.filter(({ name }) => WORK.includes(name));
  if (busy.length === 0) return undefined;
  return (1000 * busy.reduce((sum, { cpu: { apiserver, etcd } }) => sum + apiserver + etcd, 0)) / n;
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 0 && low !== undefined && high !== undefined ? (low + high) / 2 : high;
}
