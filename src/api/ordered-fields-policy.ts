/**
 * The admission policy that locks the fields of an order. It ships beside the CRD, and is not one of its rules: the API
 * server evaluates the rules of a CRD at every write, also of status. Each step of a path there copies the schema of all
 * fields beside it (`Properties` in apiextensions-apiserver 1.36, schema/cel/model), so the rule allocated 240 kB a write.
 */
import { GROUP, RECORD_ANNOTATION, SERVER_PLURAL, VERSION } from './names.ts';
import {
  MAY_BE_CHANGING,
  ORDERED_FIELDS,
  inPlaceOf,
  isSameInCel,
  policiesFor,
  type OrderedField,
} from './ordered-fields.ts';
import { attemptedText } from './record.ts';
import type { ChangePolicy } from './virtual-server.ts';

export const ORDERED_FIELDS_POLICY = 'vps-operator-ordered-fields';

const LOCKED =
  'which the order sent, cannot be changed after the server was ordered: make a new VirtualServer with the new values, then delete this one';
export const ORDERED_FIELDS_MESSAGE = `${ORDERED_FIELDS.join(', ')}, ${LOCKED}`;

/**
 * CEL: neither copy of the record has an attempt. An adopted server has none, and neither has an order that was refused. The
 * annotation has it before the order is sent, the mirror only after the answer.
 */
const NOT_ATTEMPTED =
  `!(oldObject.?status.?record.?attempt.hasValue() || ` +
  `oldObject.metadata.?annotations[?'${RECORD_ANNOTATION}'].orValue('')` +
  `.matches('${attemptedText("' + oldObject.metadata.uid + '")}'))`;

/**
 * CEL: names of variables, for a field that may change in place: whether the values allow it, whether the server that was read does,
 * and whether it is as it may be.
 */
const valuesOf = (field: OrderedField): string => `${field}MayChange`;
const returnsName = (field: OrderedField): string => `${field}Returns`;
const keptName = (field: OrderedField): string => `${field}IsAllowed`;

const IN_PLACE = ORDERED_FIELDS.flatMap((field) => {
  const inPlace = inPlaceOf(field);
  return inPlace === undefined ? [] : [{ field, ...inPlace }];
});

const policyIs = (least: ChangePolicy): string =>
  `variables.changePolicy in [${policiesFor(least)
    .map((policy) => `'${policy}'`)
    .join(', ')}]`;

const VARIABLES = [
  { name: 'isShown', expression: 'oldObject.?status.?serverStatus.hasValue()' },
  {
    name: 'changePolicy',
    // Until the server was read, its order may have to be sent again, as it was.
    expression: "variables.isShown ? object.spec.?changePolicy.orValue('Never') : 'Never'",
  },
  { name: 'isOpen', expression: MAY_BE_CHANGING },
  { name: 'name', expression: "oldObject.?status.?name.orValue('').trim()" },
  ...IN_PLACE.flatMap(({ field, policy, allows, returns }) => [
    { name: valuesOf(field), expression: allows.cel(`oldObject.spec.${field}`, `object.spec.${field}`) },
    { name: returnsName(field), expression: `variables.isShown && (${returns.cel(`(${policyIs(policy)})`)})` },
    {
      name: keptName(field),
      expression:
        `${isSameInCel(field)} || (${policyIs(policy)} && variables.${valuesOf(field)}) || ` +
        `(!variables.isOpen && variables.${returnsName(field)})`,
    },
  ]),
];

/** CEL: the field is as before, or may change in place. */
const isAllowedInCel = (field: OrderedField): string =>
  inPlaceOf(field) === undefined ? isSameInCel(field) : `variables.${keptName(field)}`;

const OPEN =
  'A request to change the server may be under way: wait until the condition ChangePending is gone, or says that the change was not made';

/** CEL: whether the field waits for the end of a request. */
const waits = (field: OrderedField): string => `(!variables.${keptName(field)} && variables.${returnsName(field)})`;

/** CEL: what would let the fields change that are locked. */
const HINTS = IN_PLACE.flatMap(({ field, policy, limit }) => {
  const locked = `!variables.${keptName(field)} && variables.isShown && !variables.${returnsName(field)}`;
  const hint = `(${locked} && variables.${valuesOf(field)} ? '. spec.changePolicy: ${policy} lets spec.${field} change in place' : '')`;
  return limit === undefined ? [hint] : [hint, `(${locked} && ${policyIs(policy)} ? '. ${limit}' : '')`];
});

const WAITS = `(${IN_PLACE.map(({ field }) => waits(field)).join(' || ')} ? '. ${OPEN}' : '')`;

/** CEL: the provider may still refuse the order, which opens the fields again. The status may also be late. */
const UNANSWERED =
  "(oldObject.?status.?record.?attempt.hasValue() ? '' : '. The order may have no answer yet: if the provider refuses it, you can change the fields')";

/** The policy and its binding. matchConstraints list their defaults, so that the next tool to apply them has no conflict. */
export function orderedFieldsPolicy(): object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: ORDERED_FIELDS_POLICY };
  const changed = ORDERED_FIELDS.map((field) => `(${isAllowedInCel(field)} ? '' : 'spec.${field}, ')`);
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
        variables: VARIABLES,
        validations: [
          {
            expression: `${NOT_ATTEMPTED} || (${ORDERED_FIELDS.map(isAllowedInCel).join(' && ')})`,
            reason: 'Invalid',
            message: ORDERED_FIELDS_MESSAGE,
            messageExpression: [...changed, `'${LOCKED}'`, UNANSWERED, ...HINTS, WAITS].join(' + '),
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
