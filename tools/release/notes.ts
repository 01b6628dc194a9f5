/** The text of a release on GitHub: what changed, and how to install and verify it. */
import { notesOf } from './changelog.ts';

const SITE = 'https://github.com/vps-operator/vps-operator';

/** `image` is a name with its tag, whose tag is the version. */
export function releaseNotes(changelog: string, image: string, digest: string): string {
  const [name = '', version = ''] = image.split(':');
  return `${notesOf(changelog, version)}

## Install

\`\`\`sh
kubectl apply --server-side \\
  -f ${SITE}/releases/download/v${version}/install.yaml \\
  -f ${SITE}/releases/download/v${version}/guards.yaml
\`\`\`

[Install](${SITE}/blob/v${version}/docs/how-to/install.md) explains the settings and the Helm chart,
[Upgrade](${SITE}/blob/v${version}/docs/how-to/upgrade.md) how to move from an older version.

## Verify

The image is \`${name}@${digest}\`.
[Verify a release](${SITE}/blob/v${version}/docs/how-to/release.md#verify-a-release) shows how to check its signature and
provenance, and those of the chart and of the files.
`;
}
