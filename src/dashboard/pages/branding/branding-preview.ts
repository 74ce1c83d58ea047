import type { Request, Response } from 'express';
import { z } from 'zod';
import type { BrandedClient, BrandedEnvironment } from '../../../domain/environments/branding.js';
import { builtInText } from '../../../domain/mail/built-in.js';
import { renderSample } from '../../../domain/mail/sample.js';
import { queryOf } from '../../../http/request/form.js';
import { sendFramedMail } from '../../../http/pages/framed-mail.js';
import { basePage } from '../../../http/pages/pages.js';
import { wordsIn } from '../../../http/pages/words.js';
import type { Web } from '../../../http/web.js';
import { brandingAttributes, maxCornerRadius } from '../../../management/resources/branding.js';
import { shownName, webUrl } from '../../../management/fields.js';
import { terms } from '../../parts/words.js';

const path = '/dashboard/branding_preview';
const prefix = 'branding.';

/** What a form says of branding; members that aren't valid, as they are while somebody types, are left out. */
const shown = {
  ...brandingAttributes,
  corner_radius: z
    .string()
    .regex(/^\d{1,2}$/)
    .transform(Number)
    .pipe(z.int().max(maxCornerRadius)),
  support_email: z.email().max(254).optional(),
  policy_uri: webUrl.optional(),
  tos_uri: webUrl.optional(),
};

type Scheme = 'light' | 'dark';

/** What is looked at: whose looks, on the way to which application, if to any. */
type Preview = {
  readonly environment: BrandedEnvironment;
  readonly client: BrandedClient | null;
  readonly application: string | null;
  readonly scheme: Scheme;
};

/** The address that shows pages with a form's entries, by field name, on the way to a client if one is named; null for a form without branding. */
export function brandingPreview(entries: Readonly<Record<string, string>>, client?: string): string | null {
  const names = Object.keys(entries);
  if (!names.includes(`${prefix}name`)) return null;
  const query = new URLSearchParams();
  for (const name of names.filter((one) => one.startsWith(prefix))) query.set(name.slice(prefix.length), entries[name] ?? '');
  if (client !== undefined) query.set('client', client);
  return `${path}?${query}`;
}

function previewOf(req: Request): Preview {
  const query = queryOf(req);
  const valid = Object.entries(shown).flatMap(([name, schema]) => {
    const read = schema.safeParse(query.get(name) ?? '');
    return read.success && (read.data || read.data === 0) ? [[name, read.data]] : [];
  });
  const branding = Object.fromEntries(valid) as BrandedEnvironment['branding'];
  const { environment } = req.ctx;
  const named = query.get('client');
  const scheme = query.get('scheme') === 'dark' ? 'dark' : 'light';
  if (named === undefined) return { environment: { ...environment, branding }, client: null, application: null, scheme };
  const client = { branding: branding ?? {}, verified: true, policy_uri: null, tos_uri: null };
  return { environment, client, application: shownName(100).safeParse(named).data ?? terms.application, scheme };
}

/** A page of the preview in one scheme, whatever that of the browser is. */
function pageIn({ environment, client, scheme }: Preview, title: string, request_id: string) {
  const base = basePage(environment, { title, request_id, client, scheme });
  const { logo_url, dark_logo_url } = base.environment;
  const logo = scheme === 'dark' ? (dark_logo_url ?? logo_url) : logo_url;
  return { ...base, environment: { ...base.environment, logo_url: logo, dark_logo_url: null }, still: true as const };
}

function showMail(res: Response, { environment, client, scheme }: Preview): void {
  const { html } = renderSample(environment, 'sign_in_code', builtInText('sign_in_code', 'en'), 'en', client);
  const fixed = html
    .replaceAll('(prefers-color-scheme: dark)', scheme === 'dark' ? 'all' : 'not all')
    .replaceAll('color-scheme: light dark', `color-scheme: ${scheme}`);
  sendFramedMail(res, fixed);
}

/** GET /dashboard/branding_preview: a page or a mail as the query's branding would have it, for a frame of ours; nothing on it works. */
export const previewBranding = (web: Web) => (req: Request, res: Response) => {
  const preview = previewOf(req);
  const { application } = preview;
  const page = queryOf(req).get('page');
  if (page === 'mail') return showMail(res, preview);
  const shownIn = { frames: 'within', language: 'en' } as const;
  if (page === 'error') {
    const { t } = wordsIn('en');
    const error = {
      ...pageIn(preview, t('error_page.title'), req.request_id),
      status: 400,
      code: 'invalid_request',
      text: t('error.challenge_expired'),
      next_step: t('error_page.next'),
      next: null,
      details: [],
    };
    return web.renderPage(res, 'error', error, shownIn);
  }
  const login = {
    ...pageIn(preview, application === null ? terms.sign_in : `Sign in to ${application}`, req.request_id),
    client: application === null ? null : { name: application },
    return_to: '',
    connections: [],
    registration_enabled: req.ctx.environment.registration_enabled,
  };
  web.renderPage(res, 'account/login', login, shownIn);
};
