/** The condition Rebooted: what came of the restart that an annotation asks for. Pure. */
import type { Condition } from '../../api/meta.ts';
import { REBOOT_ANNOTATION } from '../../api/names.ts';
import { isPaused } from '../../api/server-state.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { cut, ended } from '../../base/text.ts';
import type { Finding } from '../../controller/conditions.ts';
import { askedAt, askedText, timeAsked, MAX_ASKED, NO_SUCH_CALL } from './once.ts';

const again = (name: string): string => `To restart the server, run \`kubectl vps reboot ${name}\``;
const YOURSELF = "Restart the server from inside, or in the provider's control panel";

/** The condition Rebooted; undefined without the annotation, or if it is older than the server. */
export function rebooted(
  object: VirtualServer,
  record: ServerRecord | undefined,
): (Finding & { status: Condition['status'] }) | undefined {
  const value = askedText(object, 'reboot');
  if (value === undefined || record === undefined) return undefined;
  const isPossible = record.reboot?.asked !== value || record.reboot.said !== NO_SUCH_CALL;
  // The server of such an object is only cancelled, kept or handed over.
  const isEnding = object.metadata.deletionTimestamp !== undefined || record.expiredAt !== undefined;
  const step = isPossible ? again(object.metadata.name) : YOURSELF;
  const failed = (message: string): ReturnType<typeof rebooted> => ({
    status: 'False',
    reason: 'RebootFailed',
    message: isEnding ? message : `${ended(message)} ${step}`,
  });
  const { identifier, reboot } = record;
  if (timeAsked(value) === undefined) {
    const what = `Annotation ${REBOOT_ANNOTATION} is "${cut(value, MAX_ASKED)}", which is no time such as 2027-01-31T18:00:00Z`;
    return failed(`${what}. The operator restarts nothing`);
  }
  if (reboot?.asked !== value) {
    if (isEnding || askedAt(object, record, 'reboot') === undefined) return undefined;
    const unlessPaused = isPaused(object) ? ' and the object is no longer paused' : '';
    const message = `The operator restarts the server at ${value}, once the server runs${unlessPaused}`;
    return { status: 'False', reason: 'RebootPending', message };
  }
  const server = `server ${identifier}`;
  const { answer, said = 'the provider did not say why' } = reboot;
  if (answer === 'Accepted')
    return {
      status: 'True',
      reason: 'Rebooted',
      message: `The provider has accepted the restart of ${server}, as asked at ${value}`,
    };
  if (answer === 'Refused') return failed(`The provider did not restart ${server}: ${said}`);
  if (answer === 'Skipped') return failed(`The operator did not restart ${server}, because the server was off`);
  return failed(
    `The operator asked the provider to restart ${server} and has no answer: the server may have restarted. The operator ` +
      'does not ask again',
  );
}
