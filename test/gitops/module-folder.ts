/** Finds the files of a Go module, such as the definitions that belong to a program. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { goEnvironment, type GoProgram } from '../../tools/go-program.ts';

/** The folder of a module in the version that the program's go.mod pins. */
export async function moduleFolder({ module: cwd }: GoProgram, path: string): Promise<string> {
  const env = goEnvironment();
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', path], { cwd, env });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}
