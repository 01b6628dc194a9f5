/** The reconciler of sets against a real API server, without an operator: the test acts as the operator of single servers. */
import { expect, it } from 'vitest';
import { SET_KIND, SET_LABEL } from '../../../src/api/names.ts';
import { createSetWorld, useSets, type SetWorld } from '../support/set-world.ts';

const cluster = useSets();
const setWorld = (spec: object, change?: Parameters<typeof createSetWorld>[2]): Promise<SetWorld> =>
  createSetWorld(cluster(), spec, change);

it('creates nothing twice if its list of members is old too', async () => {
  const { reconcile, names } = await setWorld({ replicas: 2 }, (members) => ({
    ...members,
    list: () => Promise.resolve([]),
  }));
  await reconcile();
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1']);
});

it('does not delete a member that has changed since it was listed', async () => {
  let change = (): Promise<unknown> => Promise.resolve();
  const { reconcile, names, patch, makeReady } = await setWorld({ replicas: 2 }, (members) => ({
    ...members,
    perform: async (set, action) => {
      if (action.type === 'delete') await change();
      await members.perform(set, action);
    },
  }));
  await reconcile();
  await makeReady('web-0', 'web-1');
  await patch('web', { spec: { replicas: 1 } });
  change = () => patch('web-1', { spec: { deletionProtection: true } });
  await reconcile();
  expect(await names()).toEqual(['web-0', 'web-1']);
  change = () => Promise.resolve();
  await reconcile();
  expect(await names()).toEqual(['web-1']);
});

it('releases a member without its label, keeps its other owners, and adopts it again', async () => {
  const { reconcile, names, patch, member } = await setWorld({ replicas: 1, paused: false });
  await reconcile();
  const { metadata } = await member('web-0');
  const others = ['a', 'b', 'c', 'd'].map((name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    uid: `uid-of-${name}`,
  }));
  await patch('web-0', {
    metadata: { labels: null, ownerReferences: [...others, ...(metadata.ownerReferences ?? [])] },
  });
  await reconcile();
  expect((await member('web-0')).metadata.ownerReferences).toEqual(others);
  expect(await names()).toEqual(['web-0', 'web-1']);
  await patch('web', { spec: { replicas: 2 } });
  await patch('web-0', { metadata: { labels: { [SET_LABEL]: 'web' }, ownerReferences: null } });
  await reconcile();
  expect((await member('web-0')).metadata.ownerReferences).toMatchObject([{ kind: SET_KIND, name: 'web' }]);
  expect(await names()).toEqual(['web-0', 'web-1']);
});

it('writes changes of the template to the members, but keeps what you set on one of them', async () => {
  const { reconcile, patch, member, makeReady } = await setWorld({ replicas: 1 });
  await reconcile();
  await makeReady('web-0');
  await patch('web-0', { spec: { deletionProtection: true } });
  await patch('web', { spec: { template: { metadata: { labels: { tier: 'web' } }, spec: { sshCheck: 'Proxy' } } } });
  await reconcile();
  const { metadata, spec } = await member('web-0');
  expect(spec).toMatchObject({ sshCheck: 'Proxy', deletionProtection: true });
  expect(metadata.labels).toMatchObject({ tier: 'web', [SET_LABEL]: 'web' });
});
