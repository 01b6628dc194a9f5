/** Our rules on the actions, rights and commands of the workflows of GitHub Actions. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY, ROOT } from '../../../tools/image-build.ts';

interface Step {
  name?: string;
  uses?: string;
  run?: string;
}
interface Workflow {
  permissions?: object;
  jobs: Record<string, { permissions?: Record<string, string>; uses?: string; steps?: Step[] }>;
}

const FOLDER = join(ROOT, '.github/workflows');
const texts = await Promise.all((await readdir(FOLDER)).map((name) => readFile(join(FOLDER, name), 'utf8')));
const workflows = texts.map((text) => parse(text) as Workflow);
const jobs = workflows.flatMap((workflow) => Object.entries(workflow.jobs));
const steps = jobs.flatMap(([, job]) => job.steps ?? []);
const commands = steps.flatMap(({ run }) => run ?? []);

describe('the workflows', () => {
  it('pin every action by its commit, and name its version', () => {
    const lines = texts.flatMap((text) => text.split('\n')).filter((line) => /^\s*(?:- )?uses: /.test(line));
    const pinned = /uses: (?:[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/\w+\.yaml)$/;
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter((line) => !pinned.test(line))).toEqual([]);
  });

  it('use one commit of each action', () => {
    const commits = new Map<string, Set<string>>();
    for (const { uses = '' } of steps) {
      const [action = '', commit = ''] = uses.split('@');
      commits.set(action, (commits.get(action) ?? new Set()).add(commit));
    }
    expect([...commits].filter(([, { size }]) => size > 1)).toEqual([]);
  });

  it('have no rights as a whole, and each job names its own', () => {
    expect(workflows.map(({ permissions }) => permissions)).toEqual(workflows.map(() => ({})));
    expect(jobs.filter(([, { permissions }]) => permissions === undefined)).toEqual([]);
  });

  it('let only the jobs that publish write, and the tested code of others only read', () => {
    const writers = jobs.filter(([, { permissions = {} }]) => Object.values(permissions).includes('write'));
    expect(writers.map(([name]) => name).sort()).toEqual(['chart', 'image', 'pages', 'publish']);
  });

  it('never paste an expression into a command, where its text would be code', () => {
    expect(commands.filter((command) => command.includes('${{'))).toEqual([]);
  });

  it('run only commands of package.json, and steps of the release, that exist', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = commands.flatMap((command) =>
      [...command.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect([...new Set(named)].sort()).toEqual(['release', 'test:e2e', 'test:gitops']);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));

    const release = /(?:npm run release --|tools\/release\/main\.ts) (\w+)/g;
    const used = commands.flatMap((command) => [...command.matchAll(release)].map(([, name = '']) => name));
    const usage = await new Promise<string>((resolve) => {
      execFile(process.execPath, [join(ROOT, 'tools/release/main.ts')], (_, __, stderr) => resolve(stderr));
    });
    const known = [...usage.matchAll(/npm run release -- (\w+)/g)].map(([, name = '']) => name);
    expect([...new Set([...used, 'version'])].sort()).toEqual(known.sort());
  });

  it("push what identifies the chart's repository to where Artifact Hub reads it", async () => {
    const [command = ''] = commands.filter((one) => one.startsWith('cosign upload blob'));
    const [, file = '', type, tag] = /--files (\S+) [^]*--ct (\S+) "\$NAME:(\S+)"/.exec(command) ?? [];
    expect(parse(await readFile(join(ROOT, file), 'utf8'))).toHaveProperty('ignore');
    expect(type).toBe('application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml');
    expect(tag).toBe('artifacthub.io');
  });

  it('publish the image under the name that the manifests use', () => {
    const [image] = /^ {2}IMAGE: (\S+)$/m.exec(texts.join('\n'))?.slice(1) ?? [];
    expect(image).toBe(REPOSITORY);
  });
});

describe('the last step of a release', () => {
  const { run: script = '' } = steps.find(({ name }) => name === 'Publish the release') ?? {};

  /** Runs the step with a gh that answers `release view` like this. Resolves with the commands that gh got after it. */
  async function publish(
    says: string,
    code: number,
  ): Promise<{ error: Error | null; said: string; commands: string[] }> {
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-publish-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const log = join(folder, 'log');
    await writeFile(log, '');
    const gh = `#!/bin/sh
if [ "$2" = view ]; then
  ${code === 0 ? `echo '${says}'` : `echo '${says}' >&2`}
  exit ${code}
fi
echo "$1 $2 $3" >> '${log}'
`;
    await writeFile(join(folder, 'gh'), gh, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env['PATH']}`, GITHUB_REF_NAME: 'v1.2.3', PRERELEASE: 'false' };
    // As GitHub runs a step whose shell is bash.
    const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
    const { error, said } = await new Promise<{ error: Error | null; said: string }>((resolve) => {
      execFile('bash', args, { cwd: folder, env }, (error, stdout) => resolve({ error, said: stdout }));
    });
    return { error, said, commands: (await readFile(log, 'utf8')).split('\n').slice(0, -1) };
  }

  it('creates a draft, then publishes it', async () => {
    const { error, commands } = await publish('release not found', 1);
    expect(error).toBeNull();
    expect(commands).toEqual(['release create v1.2.3', 'release edit v1.2.3']);
  });

  it('replaces the draft of an earlier run', async () => {
    const { error, commands } = await publish('true', 0);
    expect(error).toBeNull();
    expect(commands).toEqual(['release delete v1.2.3', 'release create v1.2.3', 'release edit v1.2.3']);
  });

  it.each([
    ['the release is published', 'false', 0, 'the release v1.2.3 is published already'],
    ['gh fails for another reason', 'HTTP 502: Bad Gateway', 1, 'gh release view: HTTP 502: Bad Gateway'],
    ['gh cannot log in', 'gh: To use GitHub CLI, set GH_TOKEN', 4, 'gh release view: gh: To use GitHub CLI'],
  ])('changes nothing and fails if %s', async (_, says, code, told) => {
    const { error, said, commands } = await publish(says, code);
    expect(error).toMatchObject({ code: 1 });
    expect(said).toContain(told);
    expect(commands).toEqual([]);
  });
});
