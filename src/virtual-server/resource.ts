/** VirtualServers as the API server serves them. */
import { INPUT_ANNOTATIONS } from '../api/annotations.ts';
import {
  API_VERSION,
  MEMBER_DELETE_FIRST_ANNOTATION,
  MEMBER_TEMPLATE_ANNOTATION,
  RECORD_ANNOTATION,
  REPLACES_ANNOTATION,
  SERVER_KIND,
  SERVER_PLURAL,
  UNDELETES_ANNOTATION,
} from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { resource } from '../kube/resource.ts';

/** The longest record that the schema allows has about 34,000 characters; all other valid values are shorter than 4,096. */
const RECORD_LENGTH = 40_000;
const INPUT_LENGTH = 4_096;
/** The longest template that a VirtualServerSet may write. */
const TEMPLATE_LENGTH = 16_384;

export const VIRTUAL_SERVERS = resource<VirtualServer>(
  { apiVersion: API_VERSION, kind: SERVER_KIND, plural: SERVER_PLURAL },
  {
    [RECORD_ANNOTATION]: RECORD_LENGTH,
    [MEMBER_TEMPLATE_ANNOTATION]: TEMPLATE_LENGTH,
    [MEMBER_DELETE_FIRST_ANNOTATION]: INPUT_LENGTH,
    [REPLACES_ANNOTATION]: INPUT_LENGTH,
    [UNDELETES_ANNOTATION]: TEMPLATE_LENGTH,
    ...Object.fromEntries(INPUT_ANNOTATIONS.map((name) => [name, INPUT_LENGTH])),
  },
);
