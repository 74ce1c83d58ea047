import type { Request, Response } from 'express';
import { basePage } from '../../../http/pages/pages.js';
import { wordsOf } from '../../../http/pages/words.js';
import type { Web } from '../../../http/web.js';
import { isLanguage, type Language } from '../../../lib/languages/languages.js';
import { createOwnTexts } from '../../../lib/languages/own-texts.js';
import { named, own } from '../../../lib/named.js';
import { queryOf } from '../../../http/request/form.js';
import { requirePermissions } from '../../../management/authorize.js';
import { notFound } from '../../../management/problems.js';
import { keysOf } from './page-text-areas.js';
import { recordOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';

/** Pages that can be shown without anybody, by the group of their texts. */
const pages = named({ login: 'login', providers: 'login', common: 'login', register: 'register', forgot: 'forgot' } as const);

const pageOf = (key: unknown) => own(pages, String(key).split('.')[0] ?? '');

export const hasPreview = (key: unknown): boolean => pageOf(key) !== undefined;

/** Renders the page that says the text, in the language, with these texts before the built-in ones; nothing on it works. @throws {ApiError} 404 */
function showPage(web: Web, req: Request, res: Response, key: string, language: Language): void {
  const page = pageOf(key);
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
}

/** GET /dashboard/page_texts/{id}/rendered: the page that says the text, for a frame of ours. @throws {ApiError} 403, 404 */
export function previewPageText(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { record } = await recordOf(req.call, 'page_texts', addressedId(req));
    showPage(web, req, res, String(record.attributes['key']), record.attributes['locale'] as Language);
  };
}

export const pageTextDraftPath = (group: string, locale: Language): string =>
  `/dashboard/page_texts/draft?${new URLSearchParams({ group, locale })}`;

/** GET and POST /dashboard/page_texts/draft: the page of a group of texts, with those that a form sends; nothing is stored. @throws {ApiError} 403, 404 */
export function draftPageTexts(web: Web) {
  return (req: Request, res: Response): void => {
    requirePermissions(req.call, 'page_texts:read');
    const query = queryOf(req);
    const [group, tag] = [query.get('group') ?? '', query.get('locale') ?? ''];
    const locale = isLanguage(tag) ? tag : req.ctx.environment.default_locale;
    if (req.method === 'POST') {
      const texts = keysOf(group).map((key) => ({ id: key, key, locale, text: (req.form.get(`text:${key}`) ?? '').trim() }));
      const page_texts = createOwnTexts(
        texts.filter(({ text }) => text !== ''),
        () => {},
      );
      req.ctx = { ...req.ctx, environment: { ...req.ctx.environment, page_texts } };
    }
    showPage(web, req, res, group, locale);
  };
}
