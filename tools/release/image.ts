/** Builds an image of a release for all architectures and pushes it to the registry. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageName, revision, ROOT, version, type Target } from '../image-build.ts';
import { runProgram } from '../run-program.ts';

const ARCHITECTURES = ['linux/amd64', 'linux/arm64'];
/** Who signs the base image: https://github.com/GoogleContainerTools/distroless#how-do-i-verify-distroless-images */
const DISTROLESS = ['https://accounts.google.com', 'keyless@distroless.iam.gserviceaccount.com'] as const;
const run = promisify(execFile);

export interface PushedImage {
  /** Without a tag. */
  name: string;
  /** `sha256:...` of the index of all architectures. */
  digest: string;
  /** Version of the Node that the image runs. */
  node: string;
}

/** Needs Docker with buildx, cosign, and a login to the registry. */
export async function pushImage(target: Target): Promise<PushedImage> {
  for (const [command, ...args] of [
    ['docker', 'buildx', 'version'],
    ['cosign', 'version'],
  ] as const)
    await run(command, args).catch((error: unknown) => {
      throw new Error(
        `the images of a release need docker with buildx, and cosign: ${[command, ...args].join(' ')} fails`,
        {
          cause: error,
        },
      );
    });
  const name = await imageName(target);
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const build = await byDigest(defaultOf(dockerfile, 'BUILD_IMAGE'));
  const base = await byDigest(defaultOf(dockerfile, 'BASE_IMAGE'));
  const [issuer, identity] = DISTROLESS;
  const signer = ['--certificate-oidc-issuer', issuer, '--certificate-identity', identity];
  await run('cosign', ['verify', ...signer, base.replace(/:[^:@]+@/, '@')]);

  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-image-'));
  try {
    const metadata = join(folder, 'metadata.json');
    const values = { BUILD_IMAGE: build, BASE_IMAGE: base, VERSION: await version(), REVISION: await revision() };
    const args = Object.entries(values).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
    const proofs = ['--provenance=mode=max', '--sbom=true', `--metadata-file=${metadata}`];
    const platforms = `--platform=${ARCHITECTURES.join(',')}`;
    const code = await runProgram('docker', [
      'buildx',
      'build',
      platforms,
      '--push',
      `--target=${target}`,
      `--tag=${name}`,
      ...args,
      ...proofs,
      ROOT,
    ]);
    if (code !== 0) throw new Error(`docker buildx build failed with code ${code}`);
    const digest = (JSON.parse(await readFile(metadata, 'utf8')) as Record<string, string>)['containerimage.digest'];
    if (digest === undefined) throw new Error('docker buildx build reported no digest');
    const { stdout } = await run('docker', [
      'run',
      '--rm',
      '--entrypoint=/nodejs/bin/node',
      `${name}@${digest}`,
      '--version',
    ]);
    return { name: name.slice(0, name.lastIndexOf(':')), digest, node: stdout.trim().replace(/^v/, '') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The Dockerfile references base images by tag. A release pins what the tag means now, so that its provenance names it. */
async function byDigest(image: string): Promise<string> {
  const { stdout } = await run('docker', [
    'buildx',
    'imagetools',
    'inspect',
    image,
    '--format',
    '{{.Manifest.Digest}}',
  ]);
  return `${image}@${stdout.trim()}`;
}

export function defaultOf(dockerfile: string, argument: string): string {
  const [, value] = RegExp(`^ARG ${argument}=(\\S+)$`, 'm').exec(dockerfile) ?? [];
  if (value === undefined) throw new Error(`the Dockerfile has no default for ${argument}`);
  return value;
}
