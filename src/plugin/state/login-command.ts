/** The command that stores an API key, for advice. Pure. */
import { DEFAULT_API_KEY_SECRET } from '../../api/names.ts';

/** `where`: flags such as ` -n team`. */
export const loginCommand = (where: string, secret: string): string =>
  `kubectl vps login${where}${secret === DEFAULT_API_KEY_SECRET ? '' : ` --secret ${secret}`}`;
