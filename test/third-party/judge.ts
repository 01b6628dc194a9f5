/** Asks Argo CD's interpreter, Flux's CEL and the kstatus library, in one Go program, about objects. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../integration/deploy/cluster.ts';
import { KINDS, scripts } from '../../tools/gitops.ts';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';

export interface Judgement {
  argo: { status: string; message: string };
  actions: {
    offered: { name: string; disabled?: boolean; params?: { name: string }[] }[];
    /** What each action makes of the object, and the merge patch that Argo CD sends; or the error that Argo CD shows. */
    results: Record<string, { object?: object; patch?: object; error?: string }>;
  };
  flux: string;
  kstatus: string;
}

/** Path of the program; the first build takes minutes. */
export const buildJudge = (): Promise<string> => goProgram(GO_PROGRAMS.gitops);

/**
 * The health and the actions of each object; every action gets the same parameters. Rejects with the error of the health
 * script, discovery script or expression that fails.
 */
export async function judge(
  objects: Record<string, unknown>,
  parameters: Record<string, string> = {},
): Promise<Record<string, Judgement>> {
  const child = spawn(await buildJudge(), { stdio: ['pipe', 'pipe', 'pipe'] });
  const all = await Promise.all(KINDS.map(async (kind) => [kind, await scripts(kind)] as const));
  child.stdin.end(
    JSON.stringify({
      health: Object.fromEntries(all.map(([kind, { health }]) => [kind, health])),
      actions: Object.fromEntries(all.map(([kind, { actions }]) => [kind, actions])),
      parameters,
      flux: await fluxExpressions(),
      objects,
    }),
  );
  const [out, problem] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(problem);
  return JSON.parse(out) as Record<string, Judgement>;
}

interface FluxKustomization {
  kind: string;
  spec?: { healthCheckExprs?: ({ kind: string } & Record<string, string>)[] };
}

/** The expressions from the example that users copy, by kind. */
async function fluxExpressions(): Promise<Record<string, Record<string, string>>> {
  const documents = parseAllDocuments(await readFile(join(ROOT, 'examples/flux/servers.yaml'), 'utf8'));
  const objects = documents.map((document) => document.toJS() as FluxKustomization);
  return Object.fromEntries(
    objects.flatMap(({ spec }) => spec?.healthCheckExprs ?? []).map((each) => [each.kind, each]),
  );
}
