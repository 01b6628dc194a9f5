/** Completion in real shells with the scripts of kubectl: what a user who presses Tab gets. */
import { accessSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { reportSkipped } from '../../../tools/skipped.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { putCatalog } from '../support/catalog.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
let world: World;
let plugin: Plugin;

beforeEach(async () => {
  world = await createWorld({ operator: false });
  plugin = await createPlugin(folder(), world.namespace);
  await world.create(virtualServer('web'));
  await putCatalog(world);
});

/** What is typed, and what Tab makes of it. */
const cases = (): [typed: string, completed: string][] => [
  ['kubectl vps tim', 'kubectl vps timeline'],
  ['kubectl vps status w', 'kubectl vps status web'],
  ['kubectl vps list -o wi', 'kubectl vps list -o wide'],
  ['kubectl vps new db --product VPSX8', 'kubectl vps new db --product VPSX8'],
  ['kubectl vps new db --image cloudinit-deb', 'kubectl vps new db --image cloudinit-debian-trixie.raw.gz'],
  [`kubectl vps status -n ${world.namespace.slice(0, -1)}`, `kubectl vps status -n ${world.namespace}`],
];

const has = (file: string): boolean => {
  try {
    accessSync(file);
    return true;
  } catch {
    return false;
  }
};

const BASH_COMPLETION = '/usr/share/bash-completion/bash_completion';
const STARTS: [shell: string, needs: string, ...lines: string[]][] = [
  ['bash --norc --noprofile -i', BASH_COMPLETION, `. ${BASH_COMPLETION}`, '. <(kubectl completion bash)'],
  ['zsh -f -i', '/usr/bin/zsh', 'autoload -Uz compinit && compinit -u', '. <(kubectl completion zsh)'],
  ['fish --no-config -i', '/usr/bin/fish', 'kubectl completion fish | source'],
];

for (const [shell, needs] of STARTS)
  if (!has(needs)) reportSkipped(`completion in ${shell.split(' ')[0] ?? shell}`, `there is no ${needs}`);

describe.skipIf(noTerminal !== undefined)('Tab', () => {
  for (const [shell, needs, ...lines] of STARTS) {
    it.skipIf(!has(needs))(
      `completes commands, names, formats, products, images and namespaces in ${shell}`,
      async () => {
        // Runs what the shell asks, and notes what the user would run.
        await plugin.shell(`real=$(command -v kubectl); cat > kubectl <<END
#!/bin/sh
case \\$1 in
  __complete|completion) exec $real "\\$@" ;;
  *) echo "kubectl \\$*" >> ran ;;
esac
END
chmod +x kubectl; touch ran`);
        const session = plugin.terminal(`PS1='$ ' PATH=$PWD:$PATH exec ${shell}`);
        await session.shows(/[$#%>] /);
        for (const line of lines) session.type(`${line}\r`);
        session.type('echo sta""rted\r');
        await session.shows(/started/);
        const ran = async (): Promise<string[]> => (await plugin.shell('cat ran')).stdout.split('\n').slice(0, -1);
        for (const [index, [typed, completed]] of cases().entries()) {
          session.type(`${typed}\t`);
          // The shell reads Enter when it is done with Tab.
          session.type('\r');
          await expect.poll(async () => (await ran())[index], { timeout: 20_000 }).toBe(completed);
        }
        session.type('exit\r');
        expect(await session.ended).toBe(0);
      },
    );
  }
});
