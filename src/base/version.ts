/** The version of the program. */

/** Set by the build (tools/build.ts); a process that runs from the source is of no version. */
export function version(): string {
  return process.env.VPS_OPERATOR_VERSION ?? 'development';
}
