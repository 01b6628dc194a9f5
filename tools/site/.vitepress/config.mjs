/** What VitePress reads. Packages of this folder are imported only here, because the root's type checks run without them. */
import { slug } from 'github-slugger';
import { siteConfig } from '../config.ts';

export default siteConfig(slug);
