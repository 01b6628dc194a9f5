/** `kubectl vps logs`: the operator's lines about one server or set, from all of its pods. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATOR_LABELS, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import { logText, type LogLine } from '../../base/log-text.ts';
import { quoted } from '../../base/text.ts';
import { requireName } from '../cluster/cluster.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, TransientError } from '../terminal/failure.ts';
import { isAbout, isTextLine, logLineOf, timeOfLine } from '../state/operator-log.ts';
import { findOperator, logLines, operatorPods, type LogRange, type OperatorPod } from '../cluster/operator-pods.ts';
import type { Target } from '../flags/target.ts';
import { clean } from '../terminal/terminal.ts';

export interface LogsOptions {
  follow: boolean;
  /** The containers that ran before those of now. */
  previous: boolean;
  /** ms; undefined: everything that the nodes still have. */
  since?: number | undefined;
  /** How many of the newest lines about the object to show first. */
  tail: number;
  operatorNamespace: string;
}

/** How often a follower looks for pods that started since, or whose containers did. */
const LOOK_MS = 2000;

/** What is known of one pod's log. */
interface Reader {
  pod: OperatorPod;
  /** Where to continue: the time of the newest line, or of the first look (ms since the epoch). */
  newest: number;
  /** The lines of that second: the API continues at a whole second, and repeats them. */
  seen: Set<string>;
  /** True once a line was one of `--log-format=text`. */
  isText?: boolean;
}

export async function showLogs(context: Context, target: Target, options: LogsOptions): Promise<void> {
  const { cluster, now } = context;
  requireName(target.name, target.kind === 'set' ? SET_KIND : SERVER_KIND);
  const pods = await operatorPods(cluster, options.operatorNamespace);
  const begunAt = cluster.serverTime() ?? now();
  if (pods.length === 0) throw noPods(context, options);
  const readers = pods.map((pod): Reader => ({ pod, newest: 0, seen: new Set() }));
  const lines = await histories(context, readers, target, options);
  const asText = readers.find((reader) => reader.isText)?.pod;
  if (lines.length === 0) await explainSilence(context, target, options, asText);
  const newest = options.tail === 0 ? [] : lines.slice(-options.tail);
  print(
    context,
    newest.map((line) => shown(context, line)),
  );
  if (options.follow)
    await follow(context, new Map(readers.map((reader) => [reader.pod.name, reader])), target, { ...options, begunAt });
}

/** In order of time. Rejects with CommandError if no log can be read, and otherwise tells which cannot. */
async function histories(
  context: Context,
  readers: readonly Reader[],
  target: Target,
  options: LogsOptions,
): Promise<LogLine[]> {
  const since = options.since && Math.max(1, Math.ceil(options.since / 1000));
  const read = readers.map(async (reader) => {
    const found: LogLine[] = [];
    const range = { sinceSeconds: since, follow: false, previous: options.previous };
    await forEachLine(context, reader, target, options, range, (line) => found.push(line));
    return found;
  });
  const results = await Promise.allSettled(read);
  const failures = results.flatMap((result, index) => {
    return result.status === 'fulfilled'
      ? []
      : [{ pod: readers[index]?.pod.name ?? '', error: result.reason as Error }];
  });
  const [first] = failures;
  if (first !== undefined && failures.length === readers.length) {
    const hints = first.error instanceof CommandError ? first.error.hints : [];
    throw new CommandError(EXIT.failed, first.error.message, hints);
  }
  tell(
    context,
    failures.map(({ pod, error }) => clean(`the log of pod ${pod} is not shown: ${error.message}`)),
  );
  return results
    .flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    .sort((a, b) => (timeOfLine(a) ?? 0) - (timeOfLine(b) ?? 0));
}

function shown({ terminal: { paint } }: Context, line: LogLine): string {
  const { level } = line;
  if (level === 'error' || level === 'fatal') return paint.bad(logText(line));
  return level === 'warn' ? paint.busy(logText(line)) : logText(line);
}

/** Calls `found` for each new line about the object. Rejects with CommandError. */
async function forEachLine(
  { cluster }: Context,
  reader: Reader,
  target: Target,
  { operatorNamespace }: LogsOptions,
  range: LogRange & { follow: boolean },
  found: (line: LogLine) => void,
): Promise<void> {
  for await (const text of logLines(cluster, operatorNamespace, reader.pod, range)) {
    const line = logLineOf(text);
    if (isTextLine(text)) reader.isText = true;
    if (line !== undefined && isNews(reader, text, line) && isAbout(line, target, cluster.namespace)) found(line);
  }
}

/** False for a line that was read before. */
function isNews(reader: Reader, text: string, line: LogLine): boolean {
  if (reader.seen.has(text)) return false;
  const at = timeOfLine(line) ?? reader.newest;
  if (Math.floor(at / 1000) > Math.floor(reader.newest / 1000)) reader.seen.clear();
  reader.newest = Math.max(reader.newest, at);
  reader.seen.add(text);
  return true;
}

/** Until Ctrl-C; continues with the pods of a new version and with restarted containers. */
async function follow(
  context: Context,
  readers: Map<string, Reader>,
  target: Target,
  options: LogsOptions & { begunAt: number },
): Promise<never> {
  const open = new Set<Reader>();
  const start = async (reader: Reader): Promise<void> => {
    open.add(reader);
    const sinceTime = new Date(reader.newest || options.begunAt).toISOString();
    await forEachLine(context, reader, target, options, { sinceTime, follow: true }, (line) =>
      print(context, [shown(context, line)]),
    )
      // The pod is gone, its container starts, or a server is away: the next look tells.
      .catch(() => undefined)
      .finally(() => open.delete(reader));
  };
  for (;;) {
    for (const reader of readers.values()) if (!open.has(reader)) void start(reader);
    await sleep(LOOK_MS);
    const pods = await operatorPods(context.cluster, options.operatorNamespace).catch((error: unknown) => {
      if (error instanceof TransientError) return [...readers.values()].map(({ pod }) => pod);
      throw error;
    });
    const fresh = (pod: OperatorPod): Reader => ({ pod, newest: 0, seen: new Set() });
    readers = new Map(pods.map((pod) => [pod.name, readers.get(pod.name) ?? fresh(pod)]));
  }
}

function noPods({ cluster }: Context, { operatorNamespace }: LogsOptions): CommandError {
  return new CommandError(EXIT.failed, `no pod of the operator in namespace ${JSON.stringify(operatorNamespace)}`, [
    findOperator(cluster.where),
  ]);
}

/** Rejects with CommandError if the object does not exist either: the name is probably mistyped. */
async function explainSilence(
  { cluster, ...context }: Context,
  { kind, name }: Target,
  options: LogsOptions,
  asText: OperatorPod | undefined,
): Promise<void> {
  if (!options.follow) {
    if (kind === 'set') await cluster.getSet(name);
    else if ((await cluster.find(name)) === undefined) throw await cluster.noServer(name, 'logs');
  }
  const when = options.since === undefined ? '' : ' in this time';
  const selection = `-l ${OPERATOR_LABELS} -c ${quoted(asText?.container ?? '')} --tail=-1`;
  const others = [
    'lines of --log-format=text are not searched; to see them, run:',
    `  kubectl logs${cluster.where} --namespace=${quoted(options.operatorNamespace)} ${selection} | grep -F ${cluster.namespace}/${name}`,
  ];
  tell(context, [`the operator has no line about ${name}${when}`, ...(asText === undefined ? [] : others)]);
}
