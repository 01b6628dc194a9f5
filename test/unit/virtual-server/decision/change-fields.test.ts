/** What the server shows of a request that was noted by its key. */
import { describe, expect, it } from 'vitest';
import { fieldsOf, isShown } from '../../../../src/virtual-server/decision/change-fields.ts';
import { SERVER } from '../../../fixtures/decision.ts';

const SHOWN = { ...SERVER, product: 'VPSX8', tablet: false, specs: { diskSize: 20480 } };

describe('a request', () => {
  it.each([
    ['{"product":"VPSX8"}', true],
    ['{"product":"vpsx8","tablet":false}', true],
    ['{"product":"VPSX8","tablet":true}', false],
    ['{"specs":{"disk_size":20480}}', true],
    ['{"specs":{"disk_size":20480,"extra_cores":2}}', false],
  ])('of which the key is %s is shown: %j', (key, is) => {
    expect(isShown(key, SHOWN)).toBe(is);
  });

  it.each(['{"gpu":"big"}', '{"product":"VPSX8","gpu":"big"}', '{"specs":{"gpus":1}}', '[]', 'null', 'no JSON'])(
    'of a newer version is not taken for shown, nor is what is no request (%s)',
    (key) => {
      expect(fieldsOf(key)).toBeUndefined();
      expect(isShown(key, SHOWN)).toBe(false);
    },
  );
});
