/**
 * `npm run control-plane`: runs an API server with our CRDs until SIGINT or SIGTERM; prints how to reach it as one line
 * of JSON. With `--controllers`, also runs kube-controller-manager once it is built, and prints another line.
 */
import { parseArgs } from 'node:util';
import { startControlPlane } from './control-plane.ts';

const { controllers } = parseArgs({ options: { controllers: { type: 'boolean', default: false } } }).values;

const progress = (line: string) => void process.stderr.write(`${line}\n`);

// Until the control plane is up, no orderly stop is needed: its processes end with this one.
const exit = () => process.exit(0);
process.on('SIGINT', exit).on('SIGTERM', exit);
const controlPlane = await startControlPlane({ progress, hurry: true }).catch((error: unknown) => {
  progress(`control plane: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
process.off('SIGINT', exit).off('SIGTERM', exit);

// `on`, not `once`: a second Ctrl-C must not interrupt the orderly stop.
const signalled = new Promise<NodeJS.Signals>((resolve) => {
  process.on('SIGINT', resolve).on('SIGTERM', resolve);
});
const tell = (facts: object) => void process.stdout.write(`${JSON.stringify(facts)}\n`);
tell({ kubeconfig: controlPlane.kubeconfigPath, kubectl: controlPlane.kubectl });
progress(`control plane: ${controlPlane.server} is ready; Ctrl-C stops it`);
if (controllers) {
  controlPlane.startControllers().then(
    () => tell({ controllers: 'running' }),
    (error: unknown) => tell({ controllers: 'missing', why: error instanceof Error ? error.message : String(error) }),
  );
}
progress(`control plane: ${await signalled}, stopping`);
await controlPlane.stop();
process.exit(0);
