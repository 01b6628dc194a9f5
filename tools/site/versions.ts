/** Puts the sites of several versions side by side: the menu of versions, and the newest version at the root. */
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const { compare } = new Intl.Collator('en', { numeric: true });

/** Newest first; a prerelease is older than its release. */
export function sortVersions(versions: readonly string[]): string[] {
  const parts = (version: string): [string, string] => {
    const [release = '', ...prerelease] = version.split('-');
    // Sorts after every letter and digit.
    return [release, prerelease.join('-') || '\u{10FFFF}'];
  };
  return versions.toSorted((a, b) => {
    const [release, prerelease] = parts(a);
    const [otherRelease, otherPrerelease] = parts(b);
    return compare(otherRelease, release) || compare(otherPrerelease, prerelease);
  });
}

/** Writes what a site of several versions has at its root; resolves with the version that a reader comes to first. */
export async function writeRoot(site: string): Promise<string> {
  const versions = sortVersions((await readdir(site)).filter((name) => VERSION.test(name)));
  const first = versions.find((version) => !version.includes('-')) ?? versions[0];
  if (first === undefined) throw new Error(`${site} contains no version: run npm run site`);
  await writeFile(join(site, 'versions.json'), `${JSON.stringify(versions)}\n`);
  const redirect = `<!doctype html>\n<meta charset="utf-8">\n<title>vps-operator</title>\n<meta http-equiv="refresh" content="0; url=${first}/">\n<a href="${first}/">vps-operator ${first}</a>\n`;
  await writeFile(join(site, 'index.html'), redirect);
  await copyFile(join(site, first, '404.html'), join(site, '404.html'));
  return first;
}
