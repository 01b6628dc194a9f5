/** Products, images and disk sizes, as the endpoints list them. */
import type { List } from './lies.ts';
import type { Settings } from './options.ts';

/** At most the first `keep` entries, or sizes of each disk type. */
export function listBody(list: List, { products, images, diskSizes }: Settings, keep: number): unknown {
  switch (list) {
    case 'products':
      return products.slice(0, keep).map(({ code, ram }) => ({ code, specs: { ram } }));
    case 'images':
      return images.slice(0, keep).map(({ name, description }) => ({ name, description }));
    case 'disk-sizes':
      if (keep === 0) return {};
      return Object.fromEntries(Object.entries(diskSizes).map(([type, sizes]) => [type, sizes.slice(0, keep)]));
  }
}
