/**
 * Reads settings from a folder, such as a mounted ConfigMap: one file per setting, named like its environment variable.
 * Unlike `envFrom`, the folder cannot set variables that the runtime reads, such as NODE_OPTIONS.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file that is not named like a setting. */
export class UnknownSetting extends Error {
  override readonly name = 'UnknownSetting';
  readonly file: string;

  constructor(file: string) {
    super(`${file} is not the name of a setting`);
    this.file = file;
  }
}

/**
 * The text of each setting by its name, without surrounding space: files often end with a line break. Throws
 * UnknownSetting, or the error of the file system.
 */
export function readSettings(folder: string, known: readonly string[]): Map<string, string> {
  // Kubernetes keeps the versions of a mounted ConfigMap in `..data` and `..TIME`.
  const files = readdirSync(folder).filter((file) => !file.startsWith('..'));
  const unknown = files.find((file) => !known.includes(file));
  if (unknown !== undefined) throw new UnknownSetting(unknown);
  return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8').trim()]));
}
