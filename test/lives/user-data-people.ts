/** People who create and delete the Secrets and ConfigMaps with user data, and an administrator who takes the right to read ConfigMaps. */
import { USER_DATA_SECRET_TYPE } from '../../src/api/names.ts';
import type { ApiServer } from './api-server.ts';
import { USER_DATA_NAME, USER_DATA_OF } from './further-fields.ts';
import type { Random } from './random.ts';

/** Share of their turns, 0 to 1, in which they do something. */
const ACTS = 0.05;

interface Parts {
  api: ApiServer;
  random: Random;
  namespaces: readonly string[];
  tell: (text: string) => void;
}

export class UserDataPeople {
  readonly #parts: Parts;
  #made = 0;

  /** At first, only some of them are there. */
  constructor(parts: Parts) {
    this.#parts = parts;
    const { random, namespaces } = parts;
    for (const namespace of namespaces) {
      if (random.chance(0.5)) this.#putSecret(namespace);
      if (random.chance(0.5)) this.#putConfigMap(namespace);
    }
  }

  act(): void {
    const { api, random, namespaces, tell } = this.#parts;
    if (!random.chance(ACTS)) return;
    const namespace = random.pick(namespaces);
    const at = `${namespace}/${USER_DATA_NAME}`;
    random.pick([
      () => {
        if (!api.secrets.delete(namespace, USER_DATA_NAME)) this.#putSecret(namespace);
        tell(`create or delete Secret ${at}`);
      },
      () => {
        if (!api.configMaps.delete(at)) this.#putConfigMap(namespace);
        tell(`create or delete ConfigMap ${at}`);
      },
      () => {
        api.readsConfigMaps = !api.readsConfigMaps;
        tell(`the operator may ${api.readsConfigMaps ? '' : 'not '}read ConfigMaps`);
      },
    ])();
  }

  /** Whatever an object waits for is there. */
  tidy(): void {
    const { api, namespaces } = this.#parts;
    api.readsConfigMaps = true;
    for (const namespace of namespaces) {
      this.#putSecret(namespace);
      this.#putConfigMap(namespace);
    }
  }

  #putSecret(namespace: string): void {
    const { secrets } = this.#parts.api;
    if (secrets.get(namespace, USER_DATA_NAME) !== undefined) return;
    const metadata = { namespace, name: USER_DATA_NAME };
    secrets.create(
      { metadata, type: USER_DATA_SECRET_TYPE, data: { [USER_DATA_NAME]: USER_DATA_OF.Secret } },
      'person',
    );
  }

  #putConfigMap(namespace: string): void {
    const { configMaps } = this.#parts.api;
    const at = `${namespace}/${USER_DATA_NAME}`;
    if (configMaps.has(at)) return;
    const uid = `config-map-uid-${++this.#made}`;
    const metadata = { namespace, name: USER_DATA_NAME, uid, resourceVersion: '1' };
    configMaps.set(at, { metadata, data: { [USER_DATA_NAME]: USER_DATA_OF.ConfigMap } });
  }
}
