/** What an order asks for, in words. Pure. */
import type { FurtherField } from '../../api/ordered-fields.ts';
import { userDataSourceOf } from '../../api/user-data.ts';
import type { VirtualServerSpec } from '../../api/virtual-server.ts';

type Shown = FurtherField | 'identifier';
type Asked = Partial<Pick<VirtualServerSpec, Shown>>;

/** The disk: size, and type if the order names one. */
export const diskText = ({ diskSize, diskType }: Asked & { diskSize: number }): string =>
  diskType === undefined ? String(diskSize) : `${diskSize} ${diskType}`;

/** How each field is shown besides product, image, disk and keys, in this order; undefined: not at all. */
const TEXTS: Readonly<Record<Shown, (spec: Asked) => string | undefined>> = {
  identifier: ({ identifier }) => identifier && `identifier ${identifier}`,
  ipv4: ({ ipv4 }) => (ipv4 === true ? 'IPv4' : undefined),
  zone: ({ zone }) => zone && `zone ${zone}`,
  hostname: ({ hostname }) => hostname && `hostname ${hostname}`,
  serverName: ({ serverName }) => serverName && `name ${serverName}`,
  // `diskText` shows it with the size.
  diskType: () => undefined,
  forwardDNS: ({ forwardDNS }) => (forwardDNS === true ? 'forward DNS' : undefined),
  reverseDNS: ({ reverseDNS }) => (reverseDNS === true ? 'reverse DNS' : undefined),
  advanced: ({ advanced }) =>
    advanced &&
    Object.entries(advanced)
      .map(([field, value]) => `${field} ${value}`)
      .join(', '),
  userData: ({ userData }) => (userData === undefined ? undefined : 'user data'),
  userDataFrom: ({ userDataFrom }) => {
    const source = userDataFrom && userDataSourceOf(userDataFrom);
    return source && `user data of ${source.kind} ${source.name}`;
  },
  storedUserData: ({ storedUserData }) => storedUserData && `stored user data ${storedUserData}`,
};

export const furtherTexts = (spec: Asked): string[] =>
  Object.values(TEXTS)
    .map((textIn) => textIn(spec) ?? '')
    .filter((text) => text !== '');

/** All of it in one line, without the keys. */
export const requestText = (spec: Asked & { product: string; image: string; diskSize: number }): string =>
  [spec.product, spec.image, `disk ${diskText(spec)}`, ...furtherTexts(spec)].join(', ');
