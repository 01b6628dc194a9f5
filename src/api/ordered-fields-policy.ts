/**
 * The admission policy that locks the fields of an order. It ships beside the CRD, and is not one of its rules: the API
 * server evaluates the rules of a CRD at every write, also of status. Each step of a path there copies the schema of all
 * fields beside it (`Properties` in apiextensions-apiserver 1.36, schema/cel/model), so the rule allocated 240 kB a write.
 */
import { GROUP, SERVER_PLURAL, VERSION } from './names.ts';
import { ORDERED_FIELDS, isSameInCel } from './ordered-fields.ts';

export const ORDERED_FIELDS_POLICY = 'vps-operator-ordered-fields';

const LOCKED =
  'which the order sent, cannot be changed after the server was ordered: make a new VirtualServer with the new values, then delete this one';
export const ORDERED_FIELDS_MESSAGE = `${ORDERED_FIELDS.join(', ')}, ${LOCKED}`;

/** CEL: the mirror of the record has no attempt. An adopted server has none, and neither has an order that was refused. */
const NOT_ATTEMPTED = '!oldObject.?status.?record.?attempt.hasValue()';

/** The policy and its binding. matchConstraints list their defaults, so that the next tool to apply them has no conflict. */
export function orderedFieldsPolicy(): object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: ORDERED_FIELDS_POLICY };
  const changed = ORDERED_FIELDS.map((field) => `(${isSameInCel(field)} ? '' : 'spec.${field}, ')`);
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: {},
          resourceRules: [
            {
              apiGroups: [GROUP],
              apiVersions: [VERSION],
              resources: [SERVER_PLURAL],
              operations: ['UPDATE'],
              scope: 'Namespaced',
            },
          ],
        },
        // The API server raises the generation with every change of spec, before admission.
        matchConditions: [
          { name: 'spec-changed', expression: 'object.metadata.generation != oldObject.metadata.generation' },
        ],
        validations: [
          {
            expression: `${NOT_ATTEMPTED} || (${ORDERED_FIELDS.map(isSameInCel).join(' && ')})`,
            reason: 'Invalid',
            message: ORDERED_FIELDS_MESSAGE,
            messageExpression: `${changed.join(' + ')} + '${LOCKED}'`,
          },
        ],
      },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: ORDERED_FIELDS_POLICY, validationActions: ['Deny'] },
    },
  ];
}
