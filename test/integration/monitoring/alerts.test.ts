/** The alerts as files: what each says, its page, and the cases with which Prometheus evaluates it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SET_REASONS, type Meaning } from '../../../src/api/conditions.ts';
import { CASES } from '../../third-party/alert-cases.ts';
import { ROOT } from '../deploy/cluster.ts';
import { readRules, type Rule } from './rules.ts';

let rules: Rule[];
beforeAll(async () => {
  ({ rules } = await readRules());
});

const cases = Object.entries(CASES).flatMap(([about, list]) => list.map((one) => ({ about, ...one })));

describe('the alerts', () => {
  it('have a case in which they fire and one in which they are silent', () => {
    for (const { alert } of rules) {
      const own = cases.filter(({ about }) => about === alert);
      expect(
        own.some(({ fires }) => fires.includes(alert)),
        `${alert} fires`,
      ).toBe(true);
      expect(
        own.some(({ fires }) => !fires.includes(alert)),
        `${alert} is silent`,
      ).toBe(true);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('state their severity, a summary, and where to read more', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^VPSOperator[A-Z][A-Za-z]+$/);
      expect(['critical', 'warning'], alert).toContain(labels['severity']);
      expect(Object.keys(annotations).sort(), alert).toEqual(['description', 'runbook_url', 'summary']);
      const url = `https://github.com/vps-operator/vps-operator/blob/main/docs/reference/alerts.md#${alert.toLowerCase()}`;
      expect(annotations['runbook_url']).toBe(url);
    }
  });

  it('have exactly one row and one paragraph each in docs/reference/alerts.md', async () => {
    const page = await readFile(join(ROOT, 'docs/reference/alerts.md'), 'utf8');
    const alerts = rules.map(({ alert }) => alert).sort();
    const paragraphs = page.matchAll(/^### (VPSOperator\w+)\n\S/gm);
    expect([...paragraphs].map(([, name]) => name).sort()).toEqual(alerts);
    const rows = page.matchAll(/^\| \[`(VPSOperator\w+)`\]\(#(\w+)\) \| (\w+) \|.*\| (\w[\w ]*) \|$/gm);
    const expected = rules.map(({ alert, labels, for: after = 'at once' }) => [
      alert,
      alert.toLowerCase(),
      labels['severity'],
      after,
    ]);
    expect([...rows].map(([, ...row]) => row).sort()).toEqual(expected.sort());
  });

  it('cover every reason with which a set is Stalled', () => {
    const stalled = Object.entries<Partial<Meaning>>(SET_REASONS).filter(([, { phase }]) => phase === 'stalled');
    const own = rules.find(({ alert }) => alert === 'VPSOperatorSetStalled')?.expr ?? '';
    const [, named = ''] = /reason=~"(.*)"/.exec(own) ?? [];
    expect([...named.split('|'), 'MemberUnresolved'].sort()).toEqual(stalled.map(([reason]) => reason).sort());
  });
});
