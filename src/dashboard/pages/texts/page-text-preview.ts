import type { Request, Response } from 'express';
import { basePage } from '../../../http/pages/pages.js';
import { scopeText } from '../../../http/pages/scope-texts.js';
import { wordsOf, type Words } from '../../../http/pages/words.js';
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

type Shown = {
  readonly web: Web;
  readonly req: Request;
  readonly res: Response;
  readonly words: Words;
  readonly base: (title: string) => ReturnType<typeof basePage> & { still: true; return_to: string };
  readonly shown: { readonly language: Language; readonly frames: 'within' };
};

/** Who and what a page is shown with that needs somebody. */
const user = { email: 'ada@example.com', name: 'Ada Lovelace' };
const client = { name: 'Acme Notes', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null };
const sent = { user, action: '', hidden: {} };

/** How pages are shown, each with samples of what else it takes. */
const pages = named<(page: Shown) => void>({
  login: ({ web, req, res, words: { t }, base, shown }) => {
    const { registration_enabled } = req.ctx.environment;
    web.renderPage(res, 'account/login', { ...base(t('login.title')), client: null, connections: [], registration_enabled }, shown);
  },
  register: ({ web, res, words: { t }, base, shown }) =>
    web.renderPage(res, 'account/register', { ...base(t('register.title')), client: null, connections: [] }, shown),
  forgot: ({ web, res, words: { t }, base, shown }) =>
    web.renderPage(res, 'account/password-forgot', { ...base(t('forgot.title')), client: null }, shown),
  consent: ({ web, res, words, base, shown }) => {
    const scopes = ['openid', 'profile', 'email'].map((name) => ({ name, text: scopeText(words, name) }));
    const title = words.t('consent.title', { client: client.name });
    const destination = { name: 'notes.example', address: null };
    const details = [{ name: 'detail_0', text: 'Pay €120.00 to Example Ltd', lang: 'en', dir: 'ltr' as const }];
    web.renderPage(res, 'oauth/consent', { ...base(title), ...sent, client, unverified: null, destination, scopes, details }, shown);
  },
  device: ({ web, res, words: { t }, base, shown }) => web.renderPage(res, 'oauth/device', { ...base(t('device.title')), ...sent }, shown),
  logout: ({ web, res, words: { t }, base, shown }) =>
    web.renderPage(res, 'oauth/logout-confirm', { ...base(t('logout.title_asking')), ...sent, client }, shown),
  logged_out: ({ web, res, words: { t }, base, shown }) =>
    web.renderPage(res, 'oauth/logged-out', { ...base(t('logged_out.title')), client, stays: null, next: null }, shown),
  error: ({ web, res, words: { t }, base, shown }) => {
    const refusal = {
      status: 400,
      code: 'invalid_request',
      text: t('error.challenge_expired'),
      next_step: t('error_page.next'),
      next: null,
    };
    web.renderPage(res, 'error', { ...base(t('error_page.title')), ...refusal, details: [] }, shown);
  },
});

/** Groups of texts that are shown on the page of another one. */
const onPage = named<string>({ providers: 'login', common: 'login', scope: 'consent', error_page: 'error', refusal: 'error' });

function pageOf(key: unknown) {
  const group = String(key).split('.')[0] ?? '';
  return own(pages, own(onPage, group) ?? group);
}

export const hasPreview = (key: unknown): boolean => pageOf(key) !== undefined;

/** Renders the page that says the text, in the language, with these texts before the built-in ones; nothing on it works. @throws {ApiError} 404 */
function showPage(web: Web, req: Request, res: Response, key: string, language: Language): void {
  const render = pageOf(key);
  if (render === undefined) throw notFound();
  const base = (title: string) => ({
    ...basePage(req.ctx.environment, { title, request_id: req.request_id }),
    still: true as const,
    return_to: '',
  });
  render({ web, req, res, words: wordsOf(req, language), base, shown: { language, frames: 'within' } });
}

/** GET /dashboard/page_texts/{id}/rendered: the page that says the text, for a frame of ours. @throws {ApiError} 403, 404 */
export const previewPageText = (web: Web) => async (req: Request, res: Response) => {
  const { record } = await recordOf(req.call, 'page_texts', addressedId(req));
  showPage(web, req, res, String(record.attributes['key']), record.attributes['locale'] as Language);
};

export const pageTextDraftPath = (group: string, locale: Language): string =>
  `/dashboard/page_texts/draft?${new URLSearchParams({ group, locale })}`;

/** GET and POST /dashboard/page_texts/draft: the page of a group of texts, with those that a form sends; nothing is stored. @throws {ApiError} 403, 404 */
export const draftPageTexts = (web: Web) => (req: Request, res: Response) => {
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
