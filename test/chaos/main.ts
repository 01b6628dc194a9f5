/**
 * `npm run test:chaos`: real operators, a real API server, and a fault at every request. Prints how many requests there
 * are, into how many labels they fold and what was run of the whole; the last line is `N passed, N failed`.
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
// A run in which nothing was tested has shown nothing.
process.exitCode = failed === 0 && (passed > 0 || options.list) ? 0 : 1;
