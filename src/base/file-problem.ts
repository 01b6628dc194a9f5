/** Why a file cannot be read or written, in words. */
import { getSystemErrorMessage } from 'node:util';

/** Without the call and the path that Node adds. */
export function fileProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}
