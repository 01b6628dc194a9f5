/** What the audit log of the shared API server says about one test. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { beforeEach, inject } from 'vitest';

export interface AuditLine {
  verb: string;
  objectRef?: { resource: string; subresource?: string; apiGroup?: string };
  annotations: Record<string, string>;
}

/**
 * A function that reads the lines with a text that were written since the present test began: in a whole run, the log
 * becomes longer than a string can be.
 */
export function useAudit(): (text: string) => Promise<AuditLine[]> {
  let start = 0;
  beforeEach(async () => {
    start = (await stat(inject('auditLog'))).size;
  });
  return async (text) => {
    const found: AuditLine[] = [];
    for await (const line of createInterface({ input: createReadStream(inject('auditLog'), { start }) })) {
      if (line.includes(text)) found.push(JSON.parse(line) as AuditLine);
    }
    return found;
  };
}
