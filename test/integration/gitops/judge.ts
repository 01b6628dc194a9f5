/** Asks Argo CD's interpreter, Flux's CEL and the kstatus library, in one Go program, for the health of objects. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import { CUSTOMIZATION } from '../../../tools/gitops.ts';
import { goProgram } from '../../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../../tools/go-programs.ts';

export const ROOT = join(import.meta.dirname, '../../..');

export interface Judgement {
  argo: { status: string; message: string };
  flux: string;
  kstatus: string;
}

/** Path of the program; the first build takes minutes. */
export const buildJudge = (): Promise<string> => goProgram(GO_PROGRAMS.gitops);

/** The health of each object. Rejects with the error of the script or expression that fails. */
export async function judge(objects: Record<string, unknown>): Promise<Record<string, Judgement>> {
  const child = spawn(await buildJudge(), { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(
    JSON.stringify({
      lua: await readFile(join(CUSTOMIZATION, 'health.lua'), 'utf8'),
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
  spec: { healthCheckExprs: Record<string, string>[] };
}

/** The expressions from the example that users copy. */
async function fluxExpressions(): Promise<Record<string, string> | undefined> {
  const documents = parseAllDocuments(await readFile(join(ROOT, 'examples/flux/sync.yaml'), 'utf8'));
  const objects = documents.map((document) => document.toJS() as FluxKustomization);
  return objects.find(({ kind }) => kind === 'Kustomization')?.spec.healthCheckExprs[0];
}
