/**
 * One call about the power of a server, for `spec.power` (power.ts) and for a change in place (change.ts), and what its answer
 * means. Whatever the provider answers, only later reads tell what came of the call.
 */
import type { Result } from '../../base/result.ts';
import { answerOf, meaningOf, type ProviderError } from '../../provider/error.ts';
import type { FurtherAnswer, Session } from '../../provider/types.ts';
import type { PowerCall } from '../decision/memo.ts';

/** What the provider answered to a call that acts on a server. */
export type Answered = Result<FurtherAnswer, ProviderError>;

export interface Switch {
  call: PowerCall;
  /** Of a server that wakes. */
  product: string;
}

/** `maySend`: asked right before the request. */
export function switchServer(
  session: Session,
  identifier: string,
  { call, product }: Switch,
  maySend: () => boolean,
): Promise<Answered> {
  switch (call) {
    case 'power-on':
    case 'power-off':
    case 'shutdown':
      return answerOf(session.setPower(identifier, call, maySend));
    case 'dormant':
      return answerOf(session.setDormant(identifier, { dormant: true }, maySend));
    case 'wake':
      return answerOf(session.setDormant(identifier, { dormant: false, product }, maySend));
    case 'reboot':
      return answerOf(session.reboot(identifier, maySend));
  }
}

/** What came of a call that acts on a server, as far as its answer tells. */
export function cameOf(answer: Answered): FurtherAnswer | ReturnType<typeof meaningOf> {
  return answer.ok ? answer.value : meaningOf(answer.error);
}
