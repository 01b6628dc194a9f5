/** The annotations of the operator's group: those that users set and the operator only reads, and which objects have which. */
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  CATALOG_PLURAL,
  HAND_OVER_ANNOTATION,
  MEMBER_DELETE_FIRST_ANNOTATION,
  MEMBER_TEMPLATE_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  RECORD_ANNOTATION,
  REPLACES_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  SERVER_PLURAL,
  SET_PLURAL,
  START_OVER_ANNOTATION,
} from './names.ts';

export const INPUT_ANNOTATIONS = [
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  HAND_OVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  START_OVER_ANNOTATION,
] as const;

/**
 * By plural of the kind: every annotation of the group that means something there. The guards refuse all others
 * (deploy/manifests/base/admission.yaml; a test compares). An annotation that was once known has to stay.
 */
export const KNOWN_ANNOTATIONS: Readonly<Record<string, readonly string[]>> = {
  [SERVER_PLURAL]: [
    ...INPUT_ANNOTATIONS,
    MEMBER_DELETE_FIRST_ANNOTATION,
    MEMBER_TEMPLATE_ANNOTATION,
    RECORD_ANNOTATION,
    REPLACES_ANNOTATION,
  ],
  [CATALOG_PLURAL]: [RECONCILE_AT_ANNOTATION],
  [SET_PLURAL]: [],
};
