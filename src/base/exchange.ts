/**
 * Sends a request and collects its answer. Uses undici's `dispatch`, since `request` and its stream for the body take
 * more CPU than the rest of a call.
 */
import type { Dispatcher } from 'undici';
import { decoded } from './content-encoding.ts';
import type { Deadline } from './deadline.ts';

export interface Answer {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
  /** The body as UTF-8, without a byte order mark. */
  text: string;
  /** When the headers arrived, on the clock of `performance.now` (ms). */
  receivedAt: number;
  /** Why `text` is only the beginning of the body; not set if the rest is not needed. */
  cut?: Error;
}

type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>;

/** What a body may be, and the errors that cut it off otherwise. */
export interface BodyLimits {
  /** Maximum bytes of a successful answer, and of any answer once it is decoded. */
  maxBytes: number;
  tooLarge: (statusCode: number) => Error;
  undecodable: (why: string) => Error;
}

interface Limits extends BodyLimits {
  /** Of an error, only about this many bytes are read. */
  maxErrorBytes: number;
}

/** Rejects with a network error, or with the reason of the deadline, if either comes before the headers. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  deadline: Pick<Deadline, 'reason' | 'listen'>,
  limits: Limits,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let head: Omit<Answer, 'text'> | undefined;
    let size = 0;
    let controller: Dispatcher.DispatchController | undefined;
    let isOver = false;
    const end = (cut?: Error): void => {
      if (isOver) return;
      isOver = true;
      stopListening();
      if (head === undefined) reject(cut ?? new Error('the answer has no head'));
      else resolve({ ...head, ...bodyOf(chunks, head, limits, cut) });
    };
    const fail = (error: Error): void => {
      end(error);
      controller?.abort(error);
    };
    const handler: Handler = {
      onRequestStart(started) {
        controller = started;
        // The request may have waited for a connection.
        if (deadline.reason !== undefined) started.abort(deadline.reason);
      },
      onResponseStart(_controller, statusCode, headers) {
        // Below 200, another answer follows.
        if (statusCode >= 200) head = { statusCode, headers, receivedAt: performance.now() };
      },
      onResponseData(started, chunk) {
        size += chunk.length;
        const { statusCode = 0 } = head ?? {};
        const isSuccess = statusCode >= 200 && statusCode < 300;
        if (isSuccess && size > limits.maxBytes) {
          // Nobody needs a part of it, and memory may be short.
          chunks.length = 0;
          fail(limits.tooLarge(statusCode));
          return;
        }
        chunks.push(chunk);
        if (isSuccess || size <= limits.maxErrorBytes) return;
        end();
        started.abort(new Error('the rest of the answer is not needed'));
      },
      onResponseEnd: () => end(),
      onResponseError: (_controller, error) => end(error),
    };
    const stopListening = deadline.listen(fail);
    if (deadline.reason === undefined) dispatcher.dispatch(options, handler);
    else end(deadline.reason);
  });
}

/** The body as text, and why it is only the beginning. */
export function bodyOf(
  chunks: readonly Buffer[],
  { statusCode, headers }: Pick<Answer, 'statusCode' | 'headers'>,
  { maxBytes, tooLarge, undecodable }: BodyLimits,
  cut?: Error,
): Pick<Answer, 'text' | 'cut'> {
  try {
    const bytes = decoded(Buffer.concat(chunks), headers['content-encoding'], maxBytes, cut !== undefined);
    return { text: textOf(bytes), ...(cut !== undefined && { cut }) };
  } catch (error) {
    if (error instanceof RangeError) return { text: '', cut: cut ?? tooLarge(statusCode) };
    return { text: '', cut: cut ?? undecodable((error as Error).message) };
  }
}

const BYTE_ORDER_MARK = '\ufeff';

/** The bytes as UTF-8, without a byte order mark. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
