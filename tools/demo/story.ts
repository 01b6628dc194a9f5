/** What the demo types, and what it says in between. */
import { EXIT } from '../../src/plugin/terminal/failure.ts';
import type { FaultName } from '../../src/simulator/index.ts';

export type Step =
  /** A command that has to succeed. */
  | string
  /** A command that ends with another exit code. */
  | { type: string; exits: number }
  | { say: string }
  /** Shows the provider's control panel, once a server runs there. */
  | { panel: true }
  /** The next request that the fault fits fails. */
  | { fault: FaultName };

const KEY: Step[] = [
  'kubectl apply -f key.yaml',
  'kubectl wait --for=condition=Ready vpscat/catalog',
  'kubectl vps catalog',
];

const ORDER: Step[] = [
  'kubectl apply -f server.yaml',
  'kubectl vps wait web',
  'kubectl vps status web',
  'kubectl vps cost',
];

/** The identifier of the first server at the simulated provider. */
const FIRST_SERVER = 'vs1001';

const LOST_ORDER: Step[] = [
  {
    say:
      'The provider will act on the next order, but the connection will close before the answer arrives. ' +
      'That happens: a proxy restarts, or a node fails.',
  },
  { fault: 'lost-answer' },
  'kubectl apply -f server.yaml',
  { type: 'kubectl vps wait web', exits: EXIT.stalled },
  'kubectl vps status web',
  {
    say:
      'A server may exist and cost money. The operator cannot know, and a second order could cost twice, so it orders ' +
      "nothing until you have looked in the provider's control panel. Look at least a minute after the order: a request " +
      'that was cut off may still arrive. This demo does not wait a minute, because its provider has received the order:',
  },
  { panel: true },
  { say: 'There is a server that no object holds, so the order did create it. Tell the operator:' },
  `kubectl vps resolve web --adopt ${FIRST_SERVER} --yes`,
  'kubectl vps wait web',
  'kubectl vps status web',
  { say: 'The provider created one server, for one order.' },
];

const DELETE = 'kubectl delete vps web';

const PROTECTED_DELETE: Step[] = [
  { say: 'The guards refuse to delete a protected server:' },
  'kubectl vps protect web',
  { type: DELETE, exits: 1 },
  'kubectl vps unprotect web',
];

export interface Story {
  /** Everything before the server is deleted. */
  life: Step[];
  end: Step[];
}

export function storyOf({ lostOrder }: { lostOrder: boolean }): Story {
  return lostOrder
    ? { life: [...KEY, ...LOST_ORDER], end: [DELETE] }
    : { life: [...KEY, ...ORDER, ...PROTECTED_DELETE], end: [DELETE] };
}

/** What a reader can try in a demo that keeps running. `example`: a manifest that this provider takes, too. */
export const furtherOf = (example: { file: string; name: string } | undefined): string[] => [
  'kubectl vps status',
  'kubectl vps doctor',
  'kubectl vps logs web',
  ...(example === undefined
    ? []
    : [`kubectl vps plan -f ${example.file}`, `kubectl apply -f ${example.file}`, `kubectl vps wait ${example.name}`]),
  DELETE,
  'kubectl apply -f server.yaml',
  'kubectl vps wait web',
];
