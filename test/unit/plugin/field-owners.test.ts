import { describe, expect, it } from 'vitest';
import { GROUP } from '../../../src/api/names.ts';
import { givenBack, ownersOf } from '../../../src/plugin/decisions/field-owners.ts';
import { web } from '../../fixtures/decision.ts';

const ENTRY = { apiVersion: `${GROUP}/v1alpha1`, fieldsType: 'FieldsV1', time: '2026-01-01T00:00:00Z' };
const entry = (manager: string, operation: string, fieldsV1: object, more: object = {}): object => ({
  ...ENTRY,
  ...{ manager, operation, fieldsV1 },
  ...more,
});
const SPEC = { 'f:spec': { '.': {}, 'f:product': {}, 'f:advanced': { '.': {}, 'f:cpuMode': {} } } };
const FLUX = entry('kustomize-controller', 'Apply', { 'f:spec': { 'f:product': {} } });
const STATUS = entry('operator', 'Update', { 'f:status': {} }, { subresource: 'status' });
const managed = (...managedFields: object[]) => ({ ...web().metadata, managedFields });

describe('the owners of fields', () => {
  it('are those of spec, with labels and the annotations of others', () => {
    const annotations = { 'f:example.org/a': {}, [`f:${GROUP}/adopt`]: {} };
    const metadata = { 'f:finalizers': {}, 'f:labels': { 'f:tier': {} }, 'f:annotations': annotations };
    const all = entry('kustomize-controller', 'Apply', { ...SPEC, 'f:metadata': metadata });
    const others = [entry('operator', 'Update', { 'f:metadata': { 'f:finalizers': {} } }), STATUS, { manager: 'odd' }];
    const about = { 'f:labels': { 'f:tier': {} }, 'f:annotations': { 'f:example.org/a': {} } };
    expect(ownersOf(managed(all, ...others))).toEqual([
      {
        ...{ manager: 'kustomize-controller', operation: 'Apply', apiVersion: ENTRY.apiVersion },
        fieldsV1: { ...SPEC, 'f:metadata': about },
      },
    ]);
    expect(ownersOf(web().metadata)).toEqual([]);
  });

  it('get back what they had, and the rest stays with the plugin', () => {
    const own = entry('kubectl-vps', 'Update', SPEC);
    const left = { 'f:spec': { '.': {}, 'f:advanced': { '.': {}, 'f:cpuMode': {} } } };
    expect(givenBack(managed(own, STATUS), ownersOf(managed(FLUX)))).toEqual([
      STATUS,
      FLUX,
      entry('kubectl-vps', 'Update', left),
    ]);
    const whole = entry('argocd-controller', 'Apply', SPEC);
    expect(givenBack(managed(STATUS, own), ownersOf(managed(whole)))).toEqual([STATUS, whole]);
  });

  it('get it back besides what they have applied since', () => {
    const own = entry('kubectl-vps', 'Update', SPEC);
    const since = entry('kustomize-controller', 'Apply', { 'f:spec': { 'f:image': {} } });
    expect(givenBack(managed(since, own), ownersOf(managed(FLUX)))).toEqual([
      entry('kustomize-controller', 'Apply', { 'f:spec': { 'f:product': {}, 'f:image': {} } }),
      entry('kubectl-vps', 'Update', { 'f:spec': { '.': {}, 'f:advanced': { '.': {}, 'f:cpuMode': {} } } }),
    ]);
  });

  it('share with the plugin what they shared with it before', () => {
    const own = entry('kubectl-vps', 'Update', SPEC);
    const protects = entry('kubectl-vps', 'Update', { 'f:spec': { 'f:product': {} } });
    const all = entry('kustomize-controller', 'Apply', SPEC);
    const owners = ownersOf(managed(all, protects));
    const given = givenBack(managed(own), owners);
    expect(given).toEqual([all, protects]);
    // Again, it changes nothing.
    expect(givenBack(managed(...(given ?? [])), owners)).toBeUndefined();
  });

  it('are left alone if there is nothing to give back', () => {
    const own = entry('kubectl-vps', 'Update', { 'f:spec': { 'f:image': {} } });
    for (const owners of [[FLUX], [], [entry('kubectl-vps', 'Update', SPEC)]])
      expect(givenBack(managed(own), ownersOf(managed(...owners)))).toBeUndefined();
    expect(givenBack(managed(STATUS), ownersOf(managed(FLUX)))).toBeUndefined();
  });
});
