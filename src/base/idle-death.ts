/**
 * Tells whether a request failed because its connection had died while it was idle: a gateway closes idle connections
 * whenever it likes, and the next request may be on its way by then. undici does not tell, so this looks at its sockets.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET']);
/** The errors of connections that had carried an answer before. */
const ofUsed = new WeakSet<Error>();

subscribe('undici:client:connected', (message) => {
  const { socket } = message as { socket: Socket };
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (socket.bytesRead > 0 && CODES.has(error.code ?? '')) ofUsed.add(error);
  });
});

/** `error`: what a dispatcher of undici reports for a request that got no head of an answer. */
export const isIdleDeath = (error: unknown): boolean => error instanceof Error && ofUsed.has(error);
