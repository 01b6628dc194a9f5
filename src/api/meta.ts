/** Parts shared by all kinds: metadata, conditions, references to Secrets. */
import * as z from 'zod';
import { CONDITION_TYPES } from './conditions.ts';
import { matching } from './rules.ts';

/** Maximum length of a condition message, in characters. */
export const MAX_MESSAGE = 1024;

const SECRET_NAME = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const nameOf = (kind: string) =>
  matching(
    z.string().min(1).max(253),
    SECRET_NAME,
    `must be the name of a ${kind}: lowercase letters, digits, "-" and "."`,
  );
export const secretName = nameOf('Secret');
export const configMapName = nameOf('ConfigMap');

const conditionSchema = z.object({
  type: z
    .string()
    .min(1)
    .max(64)
    .describe(`One of ${CONDITION_TYPES.join(', ')}.`),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  reason: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]+$/)
    .describe('The reason, in one CamelCase word.'),
  message: z.string().max(MAX_MESSAGE).describe('What is the case, and what to do.'),
  summary: z
    .string()
    .max(MAX_MESSAGE)
    .optional()
    .describe('What is the case: the message without what to do. Absent if that is the whole message.'),
  subject: z
    .string()
    .max(MAX_MESSAGE)
    .optional()
    .describe(
      'What the reason is about, for programs: the value that a suggested annotation takes, the CustomResourceDefinition that is being deleted, or why an order has no answer.',
    ),
  lastTransitionTime: z.iso.datetime().max(64).describe('When status last changed.'),
  observedGeneration: z.int().min(-1).optional().describe('The generation of the spec that this condition is about.'),
});

/** One condition per type, which is the API server's merge key. */
export const conditionsSchema = z
  .array(conditionSchema)
  .max(16)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .optional()
  .describe('Conditions, with the semantics of kstatus.');

export type Condition = z.infer<typeof conditionSchema>;

/** The part of Kubernetes' ObjectMeta that the operator uses; timestamps are RFC 3339. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  /** The first few owners, without their other fields. */
  ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
}
