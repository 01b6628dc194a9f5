/** The API of the specification. */
import { type Api, documentedTaskStatus, NOT_THERE } from './api.ts';
import { readFurther } from './further-fields.ts';

const CREATE_FIELDS = ['product', 'image', 'ssh_keys', 'disk_size'];

export const documented: Api = {
  error: (message) => ({ message }),
  notAuthorized: 'The account may not do this',
  denial: (status, what) => (status === 403 ? NOT_THERE : `There is no such ${what}`),
  cancelled: 'The server has been unprovisioned',
  taskStatus: documentedTaskStatus,
  products: (products) => products.map(({ code, ram }) => ({ code, specs: { ram } })),
  images: (images) => images.map(({ name, description }) => ({ name, description })),
  diskSizes: (sizes) => sizes,
  zones: undefined,
  hosts: undefined,
  prices: undefined,
  server: (server) => server,
  readOrder(body, { products, images, diskSizes, zones, hosts, variants }) {
    const { product: code, image, ssh_keys: sshKeys, disk_size: diskSize } = body;
    const product = products.find((one) => one.code === code);
    if (!product) return 'product is not one of the products';
    if (!images.some(({ name }) => name === image)) return 'image is not one of the images';
    if (typeof sshKeys !== 'string' || sshKeys.trim() === '') return 'ssh_keys must be a text';
    const further = readFurther(body, CREATE_FIELDS, { zones, hosts, furtherFields: variants.furtherFields });
    if (typeof further === 'string') return further;
    if (typeof diskSize !== 'number' || !diskSizes[further.diskType]?.includes(diskSize))
      return 'disk_size is not one of the sizes';
    return { product, diskSize, ...further };
  },
  power: undefined,
  readChange: undefined,
  named: undefined,
};
