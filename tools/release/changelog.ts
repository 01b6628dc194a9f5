/** Reads and changes CHANGELOG.md (https://keepachangelog.com): the heading of a release, and its notes. */

const REPOSITORY = 'https://github.com/vps-operator/vps-operator';

/** The text with a release that contains what was unreleased. Throws if nothing was, or if it has that release already. */
export function withRelease(changelog: string, version: string, date: Date): string {
  if (changelog.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md already has the version ${version}`);
  if (sectionOf(changelog, 'Unreleased') === '') throw new Error('CHANGELOG.md has no changes under [Unreleased]');
  const heading = `## [Unreleased]\n\n## [${version}] - ${date.toISOString().slice(0, 10)}\n`;
  const links = `[Unreleased]: ${REPOSITORY}/compare/v${version}...main\n[${version}]: ${REPOSITORY}/releases/tag/v${version}\n`;
  return changelog.replace('## [Unreleased]\n', heading).replace(/^\[Unreleased\]: .*\n/m, links);
}

/** The changes of a version, without its heading. Throws if there are none. */
export function notesOf(changelog: string, version: string): string {
  const notes = sectionOf(changelog, version);
  if (notes === undefined || notes === '') throw new Error(`CHANGELOG.md has no changes of version ${version}`);
  return notes;
}

function sectionOf(changelog: string, name: string): string | undefined {
  const section = changelog.split(/^## /m).find((part) => part.startsWith(`[${name}]`));
  // The links to the versions follow the last section.
  return section
    ?.replace(/^.*\n/, '')
    .replace(/^\[[^\]]+\]: http.*$/gm, '')
    .trim();
}
