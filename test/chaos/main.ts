/**
 * `npm run test:chaos`: real operators, a real API server, and a fault at every request. Prints the number of requests,
 * the number of distinct labels, and the share of plans that ran; the last line is `N passed, N failed`.
 */
import { startControlPlane } from '../../tools/control-plane/control-plane.ts';
import { openArena } from './arena.ts';
import { parseOptions, USAGE } from './options.ts';
import { runChaos } from './run.ts';

const options = parseOptions(process.argv.slice(2));
if (options === undefined) {
  console.error(USAGE);
  process.exit(2);
}
const controlPlane = await startControlPlane({ progress: (line) => console.error(line) });
const arena = await openArena(controlPlane.kubeconfigPath);
const { passed, failed } = await runChaos(arena, options, (line) => console.log(line));
await arena.close();
await controlPlane.stop();
console.log(`${passed} passed, ${failed} failed`);
// A run that tested nothing proves nothing.
process.exitCode = failed === 0 && (passed > 0 || options.list) ? 0 : 1;
