/** The calls of the provider API, as messages name them. */
import type { Operation } from './transport.ts';

const WORDS: Record<Operation, string> = {
  login: 'Logging in',
  products: 'Reading the list of products',
  images: 'Reading the list of images',
  diskSizes: 'Reading the list of disk sizes',
  createServer: 'Ordering the server',
  pollTask: 'Checking progress',
  readServer: 'Reading the server',
  deleteServer: 'Cancelling the server',
};

/** The message of an error: which call failed, and why. */
export function failed(operation: Operation, why: string): string {
  return `${WORDS[operation]} failed: ${why}`;
}
