/** Every name under our API group: the kinds, the finalizer, the annotations. Nothing else in the code spells them out. */

export const GROUP = 'vps-operator.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const SERVER_KIND = 'VirtualServer';
export const SERVER_PLURAL = 'virtualservers';
export const SERVER_SINGULAR = 'virtualserver';

/** Name of the CustomResourceDefinition. */
export const SERVER_DEFINITION = `${SERVER_PLURAL}.${GROUP}`;
/** On the CustomResourceDefinition: its deletion is meant, and that of all servers with it. */
export const ALLOW_DELETION_ANNOTATION = `${GROUP}/allow-deletion`;

/** Not `vs`, which is VolumeSnapshot's. */
export const SERVER_SHORT_NAME = 'vps';

/** Held from the claim until the outcome for the server is known. */
export const FINALIZER = `${GROUP}/virtualserver`;

/** The record (see record.ts); the one annotation that the operator writes. */
export const RECORD_ANNOTATION = `${GROUP}/record`;

/** Annotations that people write and the operator only reads: GitOps tools would put a removed one back. */
export const ADOPT_ANNOTATION = `${GROUP}/adopt`;
export const NOT_CREATED_ANNOTATION = `${GROUP}/not-created`;
export const START_ANEW_ANNOTATION = `${GROUP}/start-anew`;
export const PAUSED_ANNOTATION = `${GROUP}/paused`;
/** Orphans that a person has dealt with, by task or attempt, separated by commas. */
export const ORPHAN_HANDLED_ANNOTATION = `${GROUP}/orphan-handled`;
/** A server that a person has seen to be gone, by identifier. */
export const SERVER_GONE_ANNOTATION = `${GROUP}/server-gone`;
/** What a person takes for the object's own: the text that the condition IdentityUnproven gives. */
export const ACCEPT_SERVER_ANNOTATION = `${GROUP}/accept-server`;
export const RECONCILE_AT_ANNOTATION = `${GROUP}/reconcile-at`;

/** On a connection Secret: the uid of the VirtualServer that it was made for. */
export const OWNER_ANNOTATION = `${GROUP}/owner`;
/** The type of connection Secrets, which the API server lets nobody change. */
export const CONNECTION_SECRET_TYPE = `${GROUP}/connection`;

/** Name of the Secret that is read when `spec.apiKeySecretRef` is not given. */
export const DEFAULT_API_KEY_SECRET = 'vps-api-key';

/** The catalog of the provider as an object. */
export const CATALOG_KIND = 'ServerCatalog';
export const CATALOG_PLURAL = 'servercatalogs';
export const CATALOG_SINGULAR = 'servercatalog';
export const CATALOG_SHORT_NAME = 'vpscat';
