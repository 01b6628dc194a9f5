/** docs/how-to/helm.md with Helm 4. */
import { testReleaseLife } from './release-life.ts';

testReleaseLife('helm');
