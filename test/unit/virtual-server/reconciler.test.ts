/** When a visit continues with the object that its own write returned. */
import { expect, it } from 'vitest';
import { START_OVER_ANNOTATION } from '../../../src/api/names.ts';
import { UID, record, web } from '../../fixtures/decision.ts';
import { shownBy, visit, type Visited } from '../../fixtures/visits.ts';

/** Visits a copy of another object. Its writes return it with these annotations. */
const copied = (annotations: Record<string, string>): Promise<Visited> =>
  visit(web({ annotated: record({ owner: 'another-uid' }) }), {
    key: { ok: false, error: { reason: 'SecretNotFound', message: 'no key' } },
    beforeWrite: (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
    }),
  });

// After a restore of etcd a version repeats, so its check passes although you have changed the object.
it('visits again if the answer to its own write shows an unknown change', async () => {
  const visited = await copied({ [START_OVER_ANNOTATION]: UID });
  expect(visited.calls).toEqual(['write', 'write']);
  expect(shownBy(visited).reason).toBe('SecretNotFound');
});

it('waits if the answer to its own write shows no unknown change', async () => {
  const visited = await copied({});
  expect(visited.calls).toEqual(['write']);
  expect(shownBy(visited).reason).toBe('RecordMismatch');
});
