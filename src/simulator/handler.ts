/** The provider as a function from Request to Response, for tests and simulations in one process, without a socket. */
import { until } from '../base/until.ts';
import type { Simulation } from './simulation.ts';
import type { Delivery } from './wire.ts';

interface RequestContext {
  /** The address that tokens are bound to. */
  sourceAddress: string;
  /** Number of the connection in the ledger; 0 when left out. */
  connection?: number;
}

type Handler = (request: Request, context: RequestContext) => Promise<Response>;

/** Thrown by a handler where a socket would have been closed or reset without an answer. */
class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code: 'UND_ERR_SOCKET' | 'ECONNRESET';

  constructor(reset: boolean) {
    super(reset ? 'The connection was reset' : 'The connection was closed');
    this.code = reset ? 'ECONNRESET' : 'UND_ERR_SOCKET';
  }
}

/** When the request's signal aborts, the caller gets its reason; the provider goes on as if nothing had happened. */
export function createHandler(simulation: Simulation): Handler {
  return async (request, context) => {
    const url = new URL(request.url);
    const exchange = simulation.exchange({
      method: request.method,
      path: url.pathname + url.search,
      authorization: request.headers.get('authorization') ?? undefined,
      contentType: request.headers.get('content-type') ?? undefined,
      body: await request.text(),
      sourceAddress: context.sourceAddress,
      connection: context.connection ?? 0,
    });
    return toResponse(await until(request.signal, exchange));
  };
}

function toResponse(delivery: Delivery): Response {
  if (delivery.kind === 'disconnect') throw new ConnectionLostError(delivery.reset);
  const { status, headers, body } = delivery;
  const stream = typeof body === 'string' ? body : ReadableStream.from(body);
  return new Response(stream === '' ? null : stream, { status, headers });
}
