import type { Request, Response } from 'express';
import { basePage } from '../../../http/pages/pages.js';
import { wordsOf } from '../../../http/pages/words.js';
import type { Web } from '../../../http/web.js';
import type { Language } from '../../../lib/languages/languages.js';
import { named, own } from '../../../lib/named.js';
import { notFound } from '../../../management/problems.js';
import { recordOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';

/** Pages that can be shown without anybody, by the group of their texts. */
const pages = named({ login: 'login', providers: 'login', common: 'login', register: 'register', forgot: 'forgot' } as const);

const pageOf = (key: unknown) => own(pages, String(key).split('.')[0] ?? '');

export const hasPreview = (key: unknown): boolean => pageOf(key) !== undefined;

/** GET /dashboard/page_texts/{id}/rendered: the page that says the text, for a frame of ours; nothing on it works. @throws {ApiError} 403, 404 */
export function previewPageText(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { record } = await recordOf(req.call, 'page_texts', addressedId(req));
    const language = record.attributes['locale'] as Language;
    const page = pageOf(record.attributes['key']);
    if (page === undefined) throw notFound();
    const { environment } = req.ctx;
    const { t } = wordsOf(req, language);
    const base = {
      ...basePage(environment, { title: t(`${page}.title`), request_id: req.request_id }),
      still: true as const,
      return_to: '',
    };
    const shown = { language, frames: 'within' } as const;
    if (page === 'forgot') return web.renderPage(res, 'account/password-forgot', { ...base, client: null }, shown);
    if (page === 'register') return web.renderPage(res, 'account/register', { ...base, client: null, connections: [] }, shown);
    const { registration_enabled } = environment;
    web.renderPage(res, 'account/login', { ...base, client: null, connections: [], registration_enabled }, shown);
  };
}
