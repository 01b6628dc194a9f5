/** Fields of an order that few objects have, and that the provider may refuse. */
import type { FurtherField } from '../../src/api/ordered-fields.ts';
import type { VirtualServerSpec } from '../../src/api/virtual-server.ts';
import type { Random } from './random.ts';

export type Further = Partial<Pick<VirtualServerSpec, FurtherField>>;

/** Share of the objects, 0 to 1, that have some of the fields. */
const WITH_FIELDS = 0.3;

/** The provider refuses the last one, and repeats it. */
const FORMATS = ['#cloud-config\n', '#cloud-config\n', ''];
/** In all user data, and in nothing else. */
export const USER_DATA_MARK = 'mark-of-the-user-data';

/** Name of the Secret and of the ConfigMap, and of the key in each, with user data. */
export const USER_DATA_NAME = 'user-data';
/** What is in each of them, while it is there: first one text, and the other one after each change. */
export const USER_DATA_OF = {
  Secret: textsOf('secret'),
  ConfigMap: textsOf('config-map'),
};
const KEY_REF = { name: USER_DATA_NAME, key: USER_DATA_NAME };

function textsOf(source: string): readonly string[] {
  return ['first', 'other'].map((text) => `#cloud-config\nhostname: ${USER_DATA_MARK}-of-the-${source}-${text}\n`);
}

export const userDataKindOf = ({ configMapKeyRef }: NonNullable<Further['userDataFrom']>): keyof typeof USER_DATA_OF =>
  configMapKeyRef === undefined ? 'Secret' : 'ConfigMap';

/** Whether an order for such an object may send this user data. */
export function isUserDataOf({ userData, userDataFrom }: Further, sent: unknown): boolean {
  if (userDataFrom === undefined) return sent === userData;
  return USER_DATA_OF[userDataKindOf(userDataFrom)].some((text) => text === sent);
}

export const drawFurther = (random: Random): Further => (random.chance(WITH_FIELDS) ? drawSome(random) : {});

function drawSome(random: Random) {
  return {
    ...(random.chance(0.4) && { ipv4: random.chance(0.8) }),
    // No provider has the last one.
    ...(random.chance(0.3) && { zone: random.pick(['lon', 'cam', 'uk', 'lno']) }),
    ...(random.chance(0.2) && { hostname: 'web.example.org', forwardDNS: true, reverseDNS: random.chance(0.5) }),
    ...(random.chance(0.2) && { serverName: `Shop ${random.int(1, 9)}` }),
    ...(random.chance(0.3) && { diskType: random.pick(['ssd', 'hdd']) }),
    ...(random.chance(0.2) && { advanced: drawAdvanced(random) }),
    ...(random.chance(0.4) &&
      random.pick([
        { storedUserData: 'base' },
        { userData: `${random.pick(FORMATS)}hostname: ${USER_DATA_MARK}\n` },
        { userDataFrom: { secretKeyRef: KEY_REF } },
        { userDataFrom: { configMapKeyRef: KEY_REF } },
      ])),
  };
}

function drawAdvanced(random: Random): Further['advanced'] {
  return {
    ...(random.chance(0.5) && { extraCores: random.int(1, 2), extraMemory: 1024 }),
    ...(random.chance(0.5) && { cpuMode: random.pick(['Performance', 'Compatibility'] as const) }),
    ...(random.chance(0.5) && { hostServer: 'host1', tablet: random.chance(0.5) }),
    ...random.pick([{ netDevice: 'e1000' }, { diskBus: 'sata' }]),
  };
}

type KeysOf<T> = T extends unknown ? keyof T : never;
/** A field that no life has would pass every check of what the provider got. */
type None = {
  [F in FurtherField]: F extends KeysOf<ReturnType<typeof drawSome>> ? undefined : 'drawSome never has it';
};

/** None of the fields: what people change after the provider has refused one. */
export const NO_FURTHER: None = {
  ipv4: undefined,
  zone: undefined,
  hostname: undefined,
  serverName: undefined,
  diskType: undefined,
  forwardDNS: undefined,
  reverseDNS: undefined,
  advanced: undefined,
  storedUserData: undefined,
  userData: undefined,
  userDataFrom: undefined,
};
