/** All names in the operator's API group: kinds, finalizer and annotations. Other code uses these constants. */

export const GROUP = 'vps-operator.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const SERVER_KIND = 'VirtualServer';
export const SERVER_PLURAL = 'virtualservers';
export const SERVER_SINGULAR = 'virtualserver';

/** Name of the CustomResourceDefinition. */
export const SERVER_DEFINITION = `${SERVER_PLURAL}.${GROUP}`;
/** On a CustomResourceDefinition: confirms its deletion, and with it the cancellation of all its servers. */
export const ALLOW_DELETION_ANNOTATION = `${GROUP}/allow-deletion`;

/** Not `vs`, which is the short name of VolumeSnapshot. */
export const SERVER_SHORT_NAME = 'vps';

/** Set from the claim until the outcome for the server is known. */
export const FINALIZER = `${GROUP}/virtualserver`;

/** The record (see record.ts); the one annotation that the operator writes. */
export const RECORD_ANNOTATION = `${GROUP}/record`;

/** Annotations that users set and the operator only reads: a GitOps tool would restore a removed one. */
export const ADOPT_ANNOTATION = `${GROUP}/adopt`;
export const NOT_CREATED_ANNOTATION = `${GROUP}/not-created`;
export const START_OVER_ANNOTATION = `${GROUP}/start-over`;
export const PAUSED_ANNOTATION = `${GROUP}/paused`;
/** Orphans that a user has handled: comma-separated tasks or attempts. */
export const ORPHAN_HANDLED_ANNOTATION = `${GROUP}/orphan-handled`;
/** Identifier of a server that a user has confirmed to be gone. */
export const SERVER_GONE_ANNOTATION = `${GROUP}/server-gone`;
/** A server that a user accepts as the object's: the text given by the reason IdentityUnproven. */
export const ACCEPT_SERVER_ANNOTATION = `${GROUP}/accept-server`;
/** The fingerprint of an SSH host key that a user accepts in place of the known ones. */
export const ACCEPT_HOST_KEY_ANNOTATION = `${GROUP}/accept-host-key`;
/** Identifier of the server of a deleted object: its `spec.deletionDelay` ends now. */
export const CANCEL_NOW_ANNOTATION = `${GROUP}/cancel-now`;
/** Name of the object in this namespace that gets the server of this one. */
export const HAND_OVER_ANNOTATION = `${GROUP}/hand-over`;
/** Beside it, any text: only an object with the same text in `take-over` gets the server. */
export const HAND_OVER_MARK_ANNOTATION = `${GROUP}/hand-over-mark`;
/** The text of `hand-over-mark` on the object whose server this one takes over; it orders none. */
export const TAKE_OVER_ANNOTATION = `${GROUP}/take-over`;
/** A time: the operator restarts the server once then. */
export const REBOOT_ANNOTATION = `${GROUP}/reboot`;
/** A time: if `spec.power` is Off and the server does not shut down, the operator switches it off by force once then. */
export const FORCE_OFF_ANNOTATION = `${GROUP}/force-off`;
export const RECONCILE_AT_ANNOTATION = `${GROUP}/reconcile-at`;
/** Written by `kubectl vps replace`, which reads it when it runs again: which object this one replaces. */
export const REPLACES_ANNOTATION = `${GROUP}/replaces`;

/** Written by `kubectl vps undelete`, which reads it when it runs again: what the deleted object was like. */
export const UNDELETES_ANNOTATION = `${GROUP}/undeletes`;

/** On the copy of a key that `kubectl vps login` lets the operator try, and on its catalog. */
export const LOGIN_LABEL = `${GROUP}/login`;

/** On a connection Secret: the uid of the VirtualServer that it was made for. */
export const OWNER_ANNOTATION = `${GROUP}/owner`;
/** The type of connection Secrets, which the API server does not allow to change. */
export const CONNECTION_SECRET_TYPE = `${GROUP}/connection`;
/** Only Secrets of this type are sent as user data, so that no object can send another Secret of its namespace to a server. */
export const USER_DATA_SECRET_TYPE = `${GROUP}/user-data`;

/** Name of the Secret to read if `spec.apiKeySecretRef` is not set. */
export const DEFAULT_API_KEY_SECRET = 'vps-api-key';

/** The kind that shows the provider's catalog. */
export const CATALOG_KIND = 'ServerCatalog';
export const CATALOG_PLURAL = 'servercatalogs';
export const CATALOG_SINGULAR = 'servercatalog';
export const CATALOG_SHORT_NAME = 'vpscat';

/** The kind that keeps a number of equal VirtualServers. */
export const SET_KIND = 'VirtualServerSet';
export const SET_PLURAL = 'virtualserversets';
export const SET_SINGULAR = 'virtualserverset';
export const SET_SHORT_NAME = 'vpsset';
/** Name of the CustomResourceDefinition. */
export const SET_DEFINITION = `${SET_PLURAL}.${GROUP}`;

/** On a member: the name of its set. Removing it releases the member. */
export const SET_LABEL = `${GROUP}/set`;
/** On a member: the short name of the revision that it was created from. */
export const REVISION_LABEL = `${GROUP}/revision`;
/** On a member: what its set wrote to it last, besides the fields of the order. */
export const MEMBER_TEMPLATE_ANNOTATION = `${GROUP}/template`;
/** On a member: the set deletes it before the others. */
export const MEMBER_DELETE_FIRST_ANNOTATION = `${GROUP}/delete-first`;

/** Where the manifests install the operator, and how to find it there. */
export const OPERATOR_NAMESPACE = 'vps-operator-system';
export const OPERATOR_LABELS = 'app.kubernetes.io/name=vps-operator,app.kubernetes.io/component=operator';
/** The Lease of leader election, in the operator's namespace. */
export const OPERATOR_LEASE = 'vps-operator';
/** On the Lease: the version of its holder. Holders of older versions leave it out. */
export const VERSION_ANNOTATION = `${GROUP}/version`;
