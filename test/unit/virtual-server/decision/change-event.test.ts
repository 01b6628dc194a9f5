import { describe, expect, it } from 'vitest';
import type { RecordedChange, ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import { changedEvent } from '../../../../src/virtual-server/decision/change-event.ts';
import { HELD } from '../../../fixtures/decision.ts';

const SENT: RecordedChange = {
  identifier: 'srv1',
  change: '{"product":"VPSX8"}',
  since: '2026-01-01T00:00:00Z',
  acceptedAt: '2026-01-01T00:00:00Z',
};
const statusWith = (more: Partial<ServerRecord> = {}): VirtualServerStatus => ({
  identifier: 'srv1',
  product: 'VPSX8',
  specs: { diskSize: 10240 },
  price: 9.5,
  conditions: [],
  record: { ...HELD, ...more },
});

describe('the Event at the end of a change', () => {
  it('tells what was sent, and what the provider shows then', () => {
    const event = changedEvent({ ...HELD, change: SENT }, statusWith());
    expect(event).toMatchObject({ type: 'Normal', reason: 'ServerChanged' });
    expect(event?.note).toBe(
      'The change of server srv1 (product VPSX8) has ended. The provider shows product VPSX8, diskSize 10240, price 9.50',
    );
  });

  it('tells the fields that are not part of the price, and none that a later version has sent', () => {
    const note = (change: string): string | undefined =>
      changedEvent({ ...HELD, change: { ...SENT, change } }, statusWith())?.note;
    expect(note('{"cpu_mode":"performance","specs":{"extra_ram":1024}}')).toContain(
      'The change of server srv1 (advanced.cpuMode performance, advanced.extraMemory 1024) has ended. ',
    );
    // The record has only the start of a long text, and a checksum.
    const abridged = 'production/frontend-web-3dacb829';
    expect(note(`{"product":"VPSX8","name":"${abridged}"}`)).toContain('srv1 (product VPSX8, serverName) has');
    expect(note('{"hyperdrive":true}')).toContain('The change of server srv1 has ended. ');
  });

  const { acceptedAt: _, ...begun } = SENT;
  it.each<[string, RecordedChange | undefined, Partial<ServerRecord>]>([
    ['there was no change', undefined, {}],
    ['it was never sent', begun, {}],
    ['the provider has refused it', { ...SENT, refused: 'no' }, {}],
    ['it is not done', SENT, { change: SENT }],
    ['the server is gone', SENT, { missingAt: '2026-01-01T00:10:00Z' }],
  ])('does not come if %s', (_what, change, after) => {
    expect(changedEvent({ ...HELD, ...(change && { change }) }, statusWith(after))).toBeUndefined();
  });
});
