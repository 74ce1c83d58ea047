import { Router, type Request, type Response } from 'express';
import { PageError } from '../../errors.js';
import { route } from '../../http/method-not-allowed.js';
import { basePage } from '../../http/pages.js';
import type { Web } from '../../http/web.js';
import { createOpenApi } from '../openapi/document.js';
import type { Registry } from '../resource.js';
import { addressOf, anchorOf, readGuides } from './guides.js';
import { referenceModel } from './model.js';
import type {} from './page-models.js';

/** GET /docs, the reference of the Management API, and GET /docs/{guide}. Neither needs a login. */
export function referenceRouter(web: Web, registry: Registry): Router {
  const router = Router();
  const guides = readGuides();
  const openApi = createOpenApi(registry);

  const reference = (req: Request, res: Response) => {
    const base = basePage(req.ctx.environment, { title: 'Reference', request_id: req.request_id });
    web.renderPage(res, 'docs/reference', { ...base, guides: guides.list, ...referenceModel(openApi(req.ctx.environment)) });
  };
  const guide = (req: Request, res: Response) => {
    const found = guides.find(String(req.params['guide']));
    if (!found) throw new PageError(404, 'not_found', 'There is nothing at this address.');
    const base = basePage(req.ctx.environment, { title: found.guide.title, request_id: req.request_id });
    const address = (href: string) => addressOf(guides, href);
    web.renderPage(res, 'docs/guide', {
      ...base,
      guides: guides.list,
      name: found.guide.name,
      blocks: found.blocks,
      address,
      anchor: anchorOf,
    });
  };
  route(router, '/docs', { get: [reference] });
  route(router, '/docs/:guide', { get: [guide] });
  return router;
}
