/** Reads the numbers of passed, failed and skipped tests from vitest's JSON report. */
import { readFile } from 'node:fs/promises';
import type { JsonTestResults } from 'vitest/node';

export interface Counts {
  passed: number;
  failed: number;
}

export type TestCounts = Counts & { skipped: number };

/**
 * A file that cannot be loaded counts as one failure, and so does a failed run without a failed test (a broken global
 * setup writes no report; an unhandled error only shows in the exit code).
 */
export async function readCounts(report: string, exitCode: number): Promise<TestCounts> {
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const results = JSON.parse(text) as JsonTestResults;
  const broken = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = results.numFailedTests + broken.length;
  return {
    passed: results.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: results.numPendingTests,
  };
}
