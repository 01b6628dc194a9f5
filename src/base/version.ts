/** The version of the program. */

/** Set by the build (tools/build.ts); a process that runs from source has no version. */
export function version(): string {
  return process.env.VPS_OPERATOR_VERSION ?? 'development';
}
