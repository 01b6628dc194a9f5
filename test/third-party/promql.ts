/** Asks Prometheus' own code about rules and expressions: test/go/rules. */
import { execFile } from 'node:child_process';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';

/** The first build of Prometheus' packages takes minutes. */
export const BUILD_MS = 900_000;

export interface Selector {
  metric: string;
  matchers: { label: string; type: '=' | '!=' | '=~' | '!~'; value: string }[];
}
export interface Expression {
  /** Parse error of the expression. */
  error?: string;
  selectors: Selector[];
  /** Labels that the expression groups, joins or aggregates by. */
  labels: string[];
}
interface AlertCase {
  name: string;
  /** Samples of each series, one per minute, in promtool's notation. */
  series: Record<string, string>;
  minutes: number;
}
export interface Firing {
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
interface Answer {
  errors: string[];
  expressions: Expression[];
  cases: { name: string; firing: Firing[] }[];
}
interface Question {
  rules?: string;
  expressions?: string[];
  cases?: AlertCase[];
}

/** Resolves when the program is built. */
export const buildPromql = (): Promise<string> => goProgram(GO_PROGRAMS.rules);

export async function askPromql(question: Question): Promise<Answer> {
  const program = await buildPromql();
  return new Promise((resolve, reject) => {
    const child = execFile(program, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Answer);
      else reject(new Error(stderr, { cause: error }));
    });
    child.stdin?.end(JSON.stringify(question));
  });
}
