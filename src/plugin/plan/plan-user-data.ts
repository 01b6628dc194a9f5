/** Why the operator would not order with what a Secret or ConfigMap holds as user data, in its words. Pure. */
import { USER_DATA_SECRET_TYPE } from '../../api/names.ts';
import { MAX_USER_DATA, userDataProblem, type UserDataSource } from '../../api/user-data.ts';
import type { Content } from '../cluster/named-objects.ts';

/** What decoding makes of bytes that are no UTF-8. */
const REPLACED = '\ufffd';

/** Undefined: nothing is wrong. */
export function wrongUserDataIn(
  namespace: string,
  { kind, name, key }: UserDataSource,
  { type, data }: Content,
): string | undefined {
  const where = `${kind} ${namespace}/${name}, named in spec.userDataFrom,`;
  if (kind === 'Secret' && type !== USER_DATA_SECRET_TYPE)
    return `InvalidSpec: ${where} is of the type ${JSON.stringify(type ?? '')}, and the operator sends only Secrets of the type ${USER_DATA_SECRET_TYPE}`;
  const broken = brokenText(key, data[key] ?? '');
  return broken === undefined ? undefined : `UserDataNotFound: ${where} ${broken}`;
}

function brokenText(key: string, text: string): string | undefined {
  if (text === '') return `has no key "${key}"`;
  if (text.includes(REPLACED)) return `key "${key}" is no text in UTF-8`;
  if (text.length > MAX_USER_DATA) return `key "${key}" has ${text.length} characters, more than ${MAX_USER_DATA}`;
  const problem = userDataProblem(text);
  return problem && `key "${key}" ${problem}`;
}
