/** Why the operator would not order with what a Secret or ConfigMap holds as user data, in its words. Pure. */
import { USER_DATA_SECRET_TYPE } from '../../api/names.ts';
import { unusableText, userDataProblem, type UserDataSource } from '../../api/user-data.ts';
import type { Content } from '../cluster/named-objects.ts';

/** Undefined: nothing is wrong. */
export function wrongUserDataIn(
  namespace: string,
  { kind, name, key }: UserDataSource,
  { type, data }: Content,
): string | undefined {
  const where = `${kind} ${namespace}/${name}, named in spec.userDataFrom,`;
  if (kind === 'Secret' && type !== USER_DATA_SECRET_TYPE)
    return `InvalidSpec: ${where} is of the type ${JSON.stringify(type ?? '')}, and the operator sends only Secrets of the type ${USER_DATA_SECRET_TYPE}`;
  const text = data[key] ?? '';
  const problem = userDataProblem(text);
  const broken = unusableText(key, text) ?? (problem && `key "${key}" ${problem}`);
  return broken === undefined ? undefined : `UserDataNotFound: ${where} ${broken}`;
}
