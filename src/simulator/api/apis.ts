/** The APIs by their names. */
import type { ApiName } from '../variants.ts';
import type { Api } from './api.ts';
import { documented } from './documented.ts';
import { publicApi } from './public.ts';

export const APIS: Readonly<Record<ApiName, Api>> = { documented, public: publicApi };
