/** The text of a release on GitHub: what changed, and how to install and verify it. */
import { notesOf } from './changelog.ts';

const SITE = 'https://github.com/vps-operator/vps-operator';

/** `image` is a name whose tag is the version. */
export function releaseNotes(changelog: string, image: string, digest: string): string {
  const [name = '', version = ''] = image.split(':');
  const page = (path: string): string => `${SITE}/blob/v${version}/docs/how-to/${path}`;
  return `${unwrapped(notesOf(changelog, version))}

## Install

\`\`\`sh
kubectl apply --server-side \\
  -f ${SITE}/releases/download/v${version}/install.yaml \\
  -f ${SITE}/releases/download/v${version}/guards.yaml
\`\`\`

With Helm:

\`\`\`sh
helm install vps-operator oci://ghcr.io/vps-operator/charts/vps-operator --version ${version} \\
  --namespace vps-operator-system --create-namespace \\
  --set provider.baseUrl=https://api.example.org --set provider.authUrl=https://auth.example.org
\`\`\`

[Install](${page('install.md')}) explains the settings, [Upgrade](${page('upgrade.md')}) how to move from an older version.

## Verify

The image is \`${name}@${digest}\`. See [how to verify the image, the chart and the files](${page('release.md#verify-a-release')}).
`;
}

/** GitHub shows a line break in the text of a release as one. */
function unwrapped(text: string): string {
  return text.replaceAll(/(?<=\S)\n *(?![-*#\s]|\d+\.)(?=\S)/g, ' ');
}
