/**
 * Sends a request and collects its answer. Uses undici's `dispatch`, since `request` and its stream for the body take
 * more CPU than the rest of a call.
 */
import type { Dispatcher } from 'undici';
import { KubeError } from './error.ts';

export interface Answer {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** When the headers arrived, on the clock of `performance.now` (ms). */
  receivedAt: number;
}

type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>;

interface Bounds {
  /** Ends the exchange, and rejects it with the signal's reason. */
  signal: AbortSignal;
  /** The exchange rejects with KubeError `TooLarge` if a successful answer has more bytes. */
  maxBytes: number;
  /** Of an error, only about this many bytes are read. */
  maxErrorBytes: number;
}

/** Rejects with a network error, the signal's reason, or KubeError `TooLarge`. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { signal, maxBytes, maxErrorBytes }: Bounds,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let answer: Omit<Answer, 'text'> = { statusCode: 0, headers: {}, receivedAt: 0 };
    let size = 0;
    let controller: Dispatcher.DispatchController | undefined;
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', abort);
      reject(error);
      controller?.abort(error);
    };
    const abort = (): void => fail(signal.reason as Error);
    const end = (): void => {
      signal.removeEventListener('abort', abort);
      resolve({ ...answer, text: Buffer.concat(chunks).toString() });
    };
    const handler: Handler = {
      onRequestStart(started) {
        controller = started;
        // The request may have waited for a connection.
        if (signal.aborted) started.abort(signal.reason as Error);
      },
      onResponseStart(_controller, statusCode, headers) {
        // Below 200, another answer follows.
        if (statusCode >= 200) answer = { statusCode, headers, receivedAt: performance.now() };
      },
      onResponseData(started, chunk) {
        size += chunk.length;
        const { statusCode } = answer;
        if (statusCode >= 200 && statusCode < 300) {
          if (size <= maxBytes) chunks.push(chunk);
          else fail(new KubeError('TooLarge', `an answer of more than ${maxBytes} bytes`, { status: statusCode }));
          return;
        }
        chunks.push(chunk);
        if (size <= maxErrorBytes) return;
        end();
        started.abort(new Error('the rest of the answer is not needed'));
      },
      onResponseEnd: end,
      onResponseError: (_controller, error) => fail(error),
    };
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      dispatcher.dispatch(options, handler);
    }
  });
}
