/** The commands that annotate many objects, while the operator and other people write these objects. */
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, RECORD_ANNOTATION, START_OVER_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { answerStatus } from '../kube/proxy.ts';
import { usePlugin, type Result } from '../support/plugin.ts';
import { pluginBehindProxy } from '../support/plugin-proxy.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

const COMMANDS = [
  { command: 'adopt -f list.csv', columns: 'namespace,name,identifier', row: ',web,vs9', annotation: ADOPT_ANNOTATION },
  { command: 'adopt --from-record --all', columns: '', row: '', annotation: ADOPT_ANNOTATION },
  { command: 'start-over -f list.csv', columns: 'namespace,name', row: ',web', annotation: START_OVER_ANNOTATION },
];

type Write = (world: World, time: number) => Promise<unknown>;

/** The operator's reports. */
const report: Write = (world, time) => world.patch('web', { status: { observedGeneration: time } }, '/status');

/**
 * Runs the command for a restored object that somebody writes just before each of the first `times` annotations, which
 * the API server therefore refuses. Resolves with the annotation in the end, too.
 */
async function whileWritten(
  { command, columns, row, annotation }: (typeof COMMANDS)[number],
  write: Write,
  times: number,
): Promise<Result & { patches: number; value: string | undefined }> {
  const world = await createWorld({ operator: false });
  const record = JSON.stringify({ owner: 'before', mode: 'create', identifier: 'vs9' });
  await world.create(virtualServer('web', withAnnotations({ [RECORD_ANNOTATION]: record })));
  const { plugin, proxy } = await pluginBehindProxy(folder(), world);
  await plugin.shell(`printf '%s\\n' '${columns}' '${row}' > list.csv`);
  let patches = 0;
  proxy.intercept = ({ method }, response) => {
    if (method !== 'PATCH' || ++patches > times) return false;
    void write(world, patches).then(() => answerStatus(response, 409));
    return true;
  };
  const result = await plugin.shell(`kubectl vps ${command} --yes`);
  return { ...result, patches, value: (await world.get('web'))?.metadata.annotations?.[annotation] };
}

describe.each(COMMANDS)('kubectl vps $command', (one) => {
  it('annotates an object that the operator reports at this moment', async () => {
    const { code, patches, value } = await whileWritten(one, report, 2);
    expect([code, patches, value]).toEqual([0, 3, expect.stringMatching(/./)]);
  });

  it('gives up on an object that is written before each attempt', async () => {
    const { code, stderr, patches, value } = await whileWritten(one, report, 100);
    expect([code, patches, value]).toEqual([1, 5, undefined]);
    expect(stderr).toContain('web is not annotated: the object changed after it was shown');
  });

  it.each<[string, Write]>([
    ['whose spec changes', (world) => world.patch('web', { spec: { hostname: 'other.example.com' } })],
    [
      'that gets another answer',
      (world) => world.patch('web', { metadata: { annotations: { [RECORD_ANNOTATION]: '?' } } }),
    ],
    ['that is deleted', (world) => world.delete('web')],
  ])('leaves an object alone %s', async (_what, write) => {
    const { code, stderr, patches, value } = await whileWritten(one, write, 1);
    expect([code, patches, value]).toEqual([1, 1, undefined]);
    expect(stderr).toContain('web is not annotated: ');
  });
});
