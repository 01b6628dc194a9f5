/** VirtualServers as the API server serves them. */
import { INPUT_ANNOTATIONS } from '../api/annotations.ts';
import {
  API_VERSION,
  MEMBER_DELETE_FIRST,
  MEMBER_TEMPLATE,
  RECORD_ANNOTATION,
  SERVER_KIND,
  SERVER_PLURAL,
} from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { resource } from '../kube/resource.ts';

/** The longest record that the schema allows has about 34,000 characters; all other valid values are shorter than 4,096. */
const RECORD_LENGTH = 40_000;
const INPUT_LENGTH = 4_096;
/** The API server's limit for all annotations of an object: the set would rewrite a truncated one at each visit. */
const TEMPLATE_LENGTH = 262_144;

export const VIRTUAL_SERVERS = resource<VirtualServer>(
  { apiVersion: API_VERSION, kind: SERVER_KIND, plural: SERVER_PLURAL },
  {
    [RECORD_ANNOTATION]: RECORD_LENGTH,
    [MEMBER_TEMPLATE]: TEMPLATE_LENGTH,
    [MEMBER_DELETE_FIRST]: INPUT_LENGTH,
    ...Object.fromEntries(INPUT_ANNOTATIONS.map((name) => [name, INPUT_LENGTH])),
  },
);
