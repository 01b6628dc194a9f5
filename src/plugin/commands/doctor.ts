/** `kubectl vps doctor`: what a maintainer asks first, on one screen. It only reads, and shows no Secret. */
import { version } from '../../base/version.ts';
import { checkDefinitions, checkApiServer, checkPolicies } from '../checks/installation.ts';
import { checkKeys, checkObjects, missingKeys, readNamespace, secretsOf } from '../checks/namespace.ts';
import { checkOperator } from '../checks/operator.ts';
import { checkProvider } from '../checks/provider.ts';
import { checkRights } from '../checks/rights.ts';
import { checkupScreen, fine, cannotSee, wrong, type CheckFinding } from '../checks/checkup.ts';
import { print, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { data } from '../terminal/table.ts';

/** Throws CommandError if something is wrong, after it has printed what. */
export async function doctor(context: Context, operatorNamespace: string): Promise<void> {
  const { format, terminal } = context;
  const findings = await examine(context, operatorNamespace);
  if (format === 'table') print(context, checkupScreen(findings, terminal.paint));
  else terminal.out.write(data({ findings }, format));
  const count = findings.filter(({ state }) => state === 'wrong').length;
  if (count > 0) throw new CommandError(EXIT.failed, `${count === 1 ? 'one check' : `${count} checks`} failed`);
}

async function examine({ cluster, now }: Context, operatorNamespace: string): Promise<CheckFinding[]> {
  const plugin = version();
  const own = fine('plugin', `version ${plugin}, namespace ${cluster.namespace}`);
  try {
    const server = await checkApiServer(cluster, now);
    let operator: string | undefined;
    const [operators, policies, held] = await Promise.all([
      seen('operator', async () => {
        const { findings, version: found } = await checkOperator(cluster, { namespace: operatorNamespace, plugin });
        operator = found;
        return findings;
      }),
      seen('guards', () => checkPolicies(cluster)),
      readNamespace(cluster),
    ]);
    const rights = await seen('rights', () => checkRights(cluster, operatorNamespace, secretsOf(held)));
    const definitions = await seen('CRDs', async () => [await checkDefinitions(cluster, operator)]);
    let missing: ReadonlySet<string> | undefined;
    const keys = await seen('key', async () => {
      missing = await missingKeys(cluster, held);
      return checkKeys(cluster.where, held, missing);
    });
    const namespace = [
      ...keys,
      ...checkProvider(cluster, held, missing),
      ...checkObjects(cluster, held, cluster.serverTime() ?? now()),
    ];
    return [own, ...server, ...definitions, ...operators, ...policies, ...rights, ...namespace];
  } catch (error) {
    return [own, wrong('API server', known(error).message)];
  }
}

async function seen(check: string, work: () => Promise<CheckFinding[]>): Promise<CheckFinding[]> {
  return work().catch((error: unknown) => [cannotSee(check, known(error))]);
}

/** Throws everything that is not about the cluster. */
function known(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  throw error;
}
