/** The provider as a function from Request to Response, for tests and simulations without a socket. */
import { until } from '../base/deadline.ts';
import type { Simulation } from './simulation.ts';
import type { Delivery } from './wire.ts';

interface RequestContext {
  /** The address that tokens are bound to. */
  sourceAddress: string;
  /** Number of the connection in the ledger; default 0. */
  connection?: number;
}

type Handler = (request: Request, context: RequestContext) => Promise<Response>;

/** Thrown by a handler when a socket would be closed or reset without an answer. */
class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code: 'UND_ERR_SOCKET' | 'ECONNRESET';

  constructor(reset: boolean) {
    super(reset ? 'The connection was reset' : 'The connection was closed');
    this.code = reset ? 'ECONNRESET' : 'UND_ERR_SOCKET';
  }
}

/** If the signal aborts, the handler rejects with its reason; the provider still processes the request. */
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
