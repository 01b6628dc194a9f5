/** Follows one object on the API server and shows it until something is reached. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { KubeHttp } from '../../kube/http.ts';
import { createInformer } from '../../kube/informer.ts';
import type { Screen } from './screen.ts';
import { line, progress, table } from './table.ts';

export interface Live {
  /** Shows the object until it meets the condition; `undefined` is an object that does not exist. Rejects after `ms`. */
  until(holds: (object: VirtualServer | undefined) => boolean, what: string, ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** Often enough for the age in the table. */
const REDRAW_MS = 250;

export function createLive(http: KubeHttp, screen: Screen, { namespace, name }: Record<'namespace' | 'name', string>) {
  const key = `${namespace}/${name}`;
  let changed: () => void = () => undefined;
  const told = (otherKey: string): void => {
    if (otherKey === key) changed();
  };
  const informer = createInformer({ http, namespaces: [namespace], handler: { onUpsert: told, onGone: told } });
  informer.start();

  const show = (): void => {
    const object = informer.get(key);
    if (object === undefined) return;
    screen.view([...table(object, Date.now()), progress(object)], line(object));
  };

  const live: Live = {
    async until(holds, what, ms) {
      await informer.synced();
      const redraw = setInterval(show, REDRAW_MS);
      const { promise: late, reject } = Promise.withResolvers<never>();
      const state = (): string => {
        const object = informer.get(key);
        return object === undefined ? `there is no vps/${name}` : line(object);
      };
      const timer = setTimeout(() => reject(new Error(`${what} took more than ${ms / 1000} s; ${state()}`)), ms);
      try {
        const reached = new Promise<void>((resolve) => {
          changed = () => {
            show();
            if (holds(informer.get(key))) resolve();
          };
          changed();
        });
        await Promise.race([reached, late]);
      } finally {
        clearInterval(redraw);
        clearTimeout(timer);
        changed = () => undefined;
        screen.freeze();
      }
    },
    stop: () => informer.stop(),
  };
  return live;
}
