import { expect, it } from 'vitest';
import { createKubeHttp } from '../../../src/kube/http.ts';

it('applies the deadline of a call to the wait for credentials too', async () => {
  const credentials = (): Promise<never> => new Promise(() => undefined);
  const cluster = { server: 'http://127.0.0.1:9', namespace: undefined, proxyUrl: undefined, credentials };
  const http = createKubeHttp({ cluster, timeoutMs: 50 });
  await expect(http.call({ path: '/' })).rejects.toMatchObject({ code: 'Unreachable' });
  const signal = AbortSignal.timeout(50);
  await expect(createKubeHttp({ cluster }).call({ path: '/', signal })).rejects.toMatchObject({ code: 'Unreachable' });
});
