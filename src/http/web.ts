import type { Deps } from '../domain/context.js';
import type { PageRenderer } from './pages/pages.js';
import type { Limiter } from './limits/rate-limiter.js';
import type { ProofUses } from './limits/rate-limit-stores.js';
import type { Assets } from './pages/static.js';

/** What the routers share beside `Deps`: pages, static files, limits. */
export type Web = {
  readonly deps: Deps;
  readonly assets: Assets;
  readonly renderPage: PageRenderer['renderPage'];
  readonly limiter: Limiter;
  /** Where uses of DPoP proofs are kept, unless in the database. */
  readonly proofUses: ProofUses | null;
};
