/** `npm run image`: builds the images of operator and simulator; further arguments go to `docker build`. */
import { buildImage } from './image-build.ts';

try {
  const args = process.argv.slice(2);
  const names = [await buildImage(args), await buildImage(args, 'simulator')];
  console.log(names.join('\n'));
} catch (error) {
  console.error(`npm run image: ${(error as Error).message}`);
  process.exitCode = 1;
}
