/** What an order asks for, in words. Pure. */
import type { FurtherField } from '../../api/ordered-fields.ts';
import { userDataSourceOf } from '../../api/user-data.ts';
import type { VirtualServerSpec } from '../../api/virtual-server.ts';

type Asked = Partial<Pick<VirtualServerSpec, FurtherField>>;

/** The disk: size, and type if the order names one. */
export const diskText = ({ diskSize, diskType }: Asked & { diskSize: number }): string =>
  diskType === undefined ? String(diskSize) : `${diskSize} ${diskType}`;

/** What the order asks for besides product, image, disk and keys. */
export function furtherTexts(spec: Asked): string[] {
  const {
    ipv4,
    zone,
    hostname,
    serverName,
    forwardDNS,
    reverseDNS,
    advanced = {},
    storedUserData,
    userData,
    userDataFrom,
  } = spec;
  const source = userDataFrom && userDataSourceOf(userDataFrom);
  return [
    ...(ipv4 === true ? ['IPv4'] : []),
    ...(zone === undefined ? [] : [`zone ${zone}`]),
    ...(hostname === undefined ? [] : [`hostname ${hostname}`]),
    ...(serverName === undefined ? [] : [`name ${serverName}`]),
    ...(forwardDNS === true ? ['forward DNS'] : []),
    ...(reverseDNS === true ? ['reverse DNS'] : []),
    ...Object.entries(advanced).map(([field, value]) => `${field} ${value}`),
    ...(userData === undefined ? [] : ['user data']),
    ...(source === undefined ? [] : [`user data of ${source.kind} ${source.name}`]),
    ...(storedUserData === undefined ? [] : [`stored user data ${storedUserData}`]),
  ];
}

/** All of it in one line, without the keys. */
export const requestText = (spec: Asked & { product: string; image: string; diskSize: number }): string =>
  [spec.product, spec.image, `disk ${diskText(spec)}`, ...furtherTexts(spec)].join(', ');
