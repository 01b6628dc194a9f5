/** Reads how many tests passed and failed out of vitest's JSON report. */
import { readFile } from 'node:fs/promises';
import type { JsonTestResults } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
}

/**
 * A file that could not be loaded counts as one failure, and so does a run that failed although no test did (a broken
 * global set-up writes no report at all; an unhandled error only shows in the exit code).
 */
export async function readCounts(report: string, exitCode: number): Promise<Counts> {
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1 };
  const results = JSON.parse(text) as JsonTestResults;
  const broken = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = results.numFailedTests + broken.length;
  return { passed: results.numPassedTests, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}
