import type { Deps } from '../core/context.js';
import type { PageRenderer } from './pages.js';
import type { Limiter } from './rate-limiter.js';
import type { Assets } from './static.js';

/** What the routers share beside `Deps`: pages, static files, limits. */
export type Web = {
  readonly deps: Deps;
  readonly assets: Assets;
  readonly renderPage: PageRenderer['renderPage'];
  readonly limiter: Limiter;
};
