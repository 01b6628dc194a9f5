/** `npm run image`: builds the container image; further arguments go to `docker build`. */
import { buildImage } from './image-build.ts';

try {
  console.log(await buildImage(process.argv.slice(2)));
} catch (error) {
  console.error(`npm run image: ${(error as Error).message}`);
  process.exitCode = 1;
}
