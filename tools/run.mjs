/**
 * Runs a command of this project on a fresh clone: `node tools/run.mjs <command> [arguments]`.
 *
 * Installs the dependencies if they are missing or differ from the lock file. Then runs the command with
 * node_modules/.bin first in PATH, which contains the project's own Node. Plain JavaScript for any Node from 20 on,
 * because it runs before everything else.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Early releases of Node 20 have no import.meta.dirname.
const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const bin = join(modules, '.bin');
const windows = process.platform === 'win32';
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const SOURCE_NODE = Number.parseInt(devDependencies.node);

function fail(message) {
  console.error(message);
  process.exit(1);
}

function readLock(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}

/** npm records what it installed; only the lock file lists packages for other platforms. */
function isInstalled() {
  const installed = readLock(join(modules, '.package-lock.json'));
  return Object.entries(readLock(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined ? wanted.optional === true : found.version === wanted.version;
  });
}

let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // A Ctrl-C in a terminal has also reached the child; a second signal would interrupt its orderly stop.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child?.kill(signal);
  });
}

/** Resolves with the exit code; a signal to this process ends the program first. */
function run(program, args, options) {
  child = spawn(program, args, { cwd: root, shell: windows, ...options });
  return new Promise((resolve) => {
    child.on('error', (error) => fail(`cannot run ${program}: ${error.message}`));
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : (code ?? 1)));
  });
}

async function install() {
  console.error('installing dependencies (npm ci); about a minute');
  const code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { stdio: ['ignore', 2, 2] });
  if (code !== 0) process.exit(code);
}

function checkNode(env) {
  const { stdout } = spawnSync('node', ['--version'], { env, encoding: 'utf8', shell: windows });
  if (Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) >= SOURCE_NODE) return;
  fail(
    `Node ${SOURCE_NODE} is missing in node_modules: npm installs it with the install script of the package "node". ` +
      'Allow that script (npm config get ignore-scripts; npm rebuild node), or put that Node in your PATH.',
  );
}

const [command, ...args] = process.argv.slice(2);
if (command === undefined) fail('usage: node tools/run.mjs <command> [arguments]');
if (!isInstalled()) await install();
const PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`;
// Tests start hundreds of processes of this project, each of which takes half the CPU to start if the modules are compiled.
const env = { NODE_COMPILE_CACHE: join(modules, '.cache/node'), ...process.env, PATH };
checkNode(env);
process.exit(await run(command, args, { env, stdio: 'inherit' }));
