/** The changelog as a release changes and quotes it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/image-build.ts';
import { notesOf, withRelease } from '../../../tools/release/changelog.ts';
import { releaseNotes } from '../../../tools/release/notes.ts';

const DATE = new Date('2027-01-31T23:00:00Z');
const PAGE = `# Changelog

## [Unreleased]

### Fixed

- A bug.

## [1.0.0] - 2027-01-01

- The first one.

[Unreleased]: https://github.com/vps-operator/vps-operator/compare/v1.0.0...main
[1.0.0]: https://github.com/vps-operator/vps-operator/releases/tag/v1.0.0
`;

describe('a release in the changelog', () => {
  it('takes over what was unreleased, and links to its tag', () => {
    const text = withRelease(PAGE, '1.0.1', DATE);
    expect(text).toBe(`# Changelog

## [Unreleased]

## [1.0.1] - 2027-01-31

### Fixed

- A bug.

## [1.0.0] - 2027-01-01

- The first one.

[Unreleased]: https://github.com/vps-operator/vps-operator/compare/v1.0.1...main
[1.0.1]: https://github.com/vps-operator/vps-operator/releases/tag/v1.0.1
[1.0.0]: https://github.com/vps-operator/vps-operator/releases/tag/v1.0.0
`);
    expect(notesOf(text, '1.0.1')).toBe('### Fixed\n\n- A bug.');
    expect(notesOf(text, '1.0.0')).toBe('- The first one.');
  });

  it('is refused without changes, or a second time', () => {
    const text = withRelease(PAGE, '1.0.1', DATE);
    expect(() => withRelease(text, '1.0.2', DATE)).toThrow('no changes under [Unreleased]');
    expect(() => withRelease(text, '1.0.1', DATE)).toThrow('already has the version 1.0.1');
  });

  it('is required for its notes', () => {
    expect(() => notesOf(PAGE, '1.0.1')).toThrow('has no changes of version 1.0.1');
    expect(() => notesOf(PAGE, '1.0')).toThrow('has no changes of version 1.0');
  });

  it('is possible with the current CHANGELOG.md', async () => {
    const page = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');
    // Just after a release, nothing is unreleased.
    const changelog = page.replace('## [Unreleased]\n', '$&\n- A change.\n');
    const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
    const text = releaseNotes(withRelease(changelog, '97.98.99', DATE), 'ghcr.io/o/n:97.98.99', digest);
    expect(text).toContain('/releases/download/v97.98.99/install.yaml');
    expect(text).toContain('oci://ghcr.io/vps-operator/charts/vps-operator --version 97.98.99');
    expect(text).toContain(`ghcr.io/o/n@${digest}`);
    expect(text).not.toContain('[Unreleased]');
  });

  it('has no line breaks within a sentence in its notes, because GitHub would show them', () => {
    const page = PAGE.replace(
      '- A bug.',
      '- A bug that\n  took long.\n- Another\n  one.\n\n### Added\n\nA text\nof two lines.',
    );
    const text = releaseNotes(withRelease(page, '1.0.1', DATE), 'ghcr.io/o/n:1.0.1', 'sha256:00');
    expect(text).toMatch(
      /^### Fixed\n\n- A bug that took long\.\n- Another one\.\n\n### Added\n\nA text of two lines\.\n\n## Install/,
    );
  });
});
