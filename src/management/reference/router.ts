import { Router, type Request, type Response } from 'express';
import { PageError } from '../../errors.js';
import { queryOf } from '../../http/request/form.js';
import { route } from '../../http/routes.js';
import { basePage } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import type { ResourceRegistry } from '../resource.js';
import { linkTarget, anchorOf } from './guides.js';
import { createLibrary } from './library.js';
import type {} from './page-models.js';
import { tokenExamples } from './code-examples.js';
import { maxQueryLength } from './search.js';

/** GET /docs, the reference of the Management API; GET /docs/api/{collection}, a page of it; GET /docs/search?q=; GET /docs/{guide} and /docs/guides/{guide}. None needs a login. */
export function referenceRouter(web: Web, registry: ResourceRegistry): Router {
  const router = Router();
  const libraryOf = createLibrary(registry);
  const base = (req: Request, title: string, query = '') => ({
    ...basePage(req.ctx.environment, { title, request_id: req.request_id }),
    groups: libraryOf(req.ctx.environment).guides.groups,
    query,
  });

  const reference = (req: Request, res: Response) => {
    const { issuer, base_url } = req.ctx.environment;
    const token = tokenExamples(issuer, `${base_url}/api`);
    web.renderPage(res, 'docs/reference', { ...base(req, 'API reference'), ...libraryOf(req.ctx.environment).reference, token });
  };
  const collection = (req: Request, res: Response) => {
    const { sections } = libraryOf(req.ctx.environment).reference;
    const section = sections.find(({ id }) => id === req.params['collection']);
    if (!section) throw new PageError(404, 'not_found', 'There’s nothing at this address.');
    web.renderPage(res, 'docs/collection', { ...base(req, section.title), sections, section });
  };
  const search = (req: Request, res: Response) => {
    const query = (queryOf(req).get('q') ?? '').trim().slice(0, maxQueryLength);
    const title = query === '' ? 'Search the documentation' : `Search: ${query}`;
    web.renderPage(res, 'docs/search', { ...base(req, title, query), ...libraryOf(req.ctx.environment).search(query) });
  };
  const guide = (folder: string) => (req: Request, res: Response) => {
    const { guides } = libraryOf(req.ctx.environment);
    const found = guides.find(folder + String(req.params['guide']));
    if (!found) throw new PageError(404, 'not_found', 'There’s nothing at this address.');
    const address = (href: string) => linkTarget(guides, href, found.guide.file);
    web.renderPage(res, 'docs/guide', {
      ...base(req, found.guide.title),
      name: found.guide.name,
      blocks: found.blocks,
      address,
      anchor: anchorOf,
    });
  };
  route(router, '/docs', { get: [reference] });
  route(router, '/docs/search', { get: [search] });
  route(router, '/docs/api/:collection', { get: [collection] });
  route(router, '/docs/:guide', { get: [guide('')] });
  route(router, '/docs/guides/:guide', { get: [guide('guides/')] });
  return router;
}
