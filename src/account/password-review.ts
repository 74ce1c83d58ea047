import type { Request, Response } from 'express';
import { dropIdentities, findReviewed, mintReview, recoveredBy, type Recovered } from '../domain/credentials/review.js';
import type { UserRow } from '../db/tables/users.js';
import { PageError } from '../errors.js';
import { formPage } from '../http/auth/csrf.js';
import { queryOf, wantsJson } from '../http/request/form.js';
import { originOf } from '../http/pages/mail-origin.js';
import type { FormPage, PageIdentity, PageSession } from '../http/pages/pages.js';
import { safeReturnTo, withReturnTo } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { isUuid } from '../lib/random.js';
import { bodyReturnTo, bodyText } from './fields.js';
import { identityDocument } from './identity-document.js';
import { deviceIn } from '../http/pages/device-words.js';
import { wordsIn, wordsOf, type Words } from '../http/pages/words.js';
import { message } from '../lib/languages/messages.js';

/**
 * After a recovery: what was ended, and what still signs the person in. Posts `review_token` and `drop:<id>` for each account to be
 * disconnected to /password/reset/review.
 */
export interface PasswordReviewPage extends FormPage {
  review_token: string;
  return_to: string;
  sessions: Pick<PageSession, 'id' | 'device' | 'ip_address' | 'last_activity_at'>[];
  identities: (PageIdentity & { last_login_at: string | null })[];
}

declare module '../http/pages/page-models.js' {
  interface PageModels {
    'account/password-review': PasswordReviewPage;
  }
}

const path = '/password/reset/review';
const onward = (return_to: string | null) => withReturnTo('/login', { notice: 'password_reset' }, return_to);

const documentOf = ({ sessions, identities }: Recovered, words: Words) => ({
  sessions: sessions.map((session) => ({
    id: session.id,
    device: deviceIn(words, session.user_agent),
    ip_address: session.ip_address,
    user_agent: session.user_agent,
    created_at: session.created_at.toISOString(),
    last_activity_at: session.last_activity_at.toISOString(),
  })),
  identities: identities.map(identityDocument),
});

/**
 * The answer to a reset: whoever recovers an account is shown every session that it ended and every account at a provider that still
 * signs in, since somebody else may have added one. JSON has them at once; a browser goes to a page of them, or on when there is nothing.
 */
export async function answerReset(req: Request, res: Response, user: UserRow, return_to: string | null): Promise<void> {
  const recovered = await recoveredBy(req.ctx, user);
  const review_token = mintReview(req.ctx, user);
  if (wantsJson(req)) {
    res.set('Cache-Control', 'no-store').json({ redirect_to: onward(return_to), review_token, ...documentOf(recovered, wordsIn('en')) });
    return;
  }
  const isEmpty = recovered.sessions.length === 0 && recovered.identities.length === 0;
  res.redirect(303, isEmpty ? onward(return_to) : withReturnTo(path, { review_token }, return_to));
}

async function requireReviewed(req: Request, token: string): Promise<UserRow> {
  const user = await findReviewed(req.ctx, token);
  if (user) return user;
  const text = message('refusal.review_over');
  throw new PageError(410, 'code_expired', text, {}, undefined, { href: '/login?return_to=%2Faccount', label: 'common.sign_in' });
}

/** GET /password/reset/review: what the reset ended, and what still signs the person in. */
export const reviewPage = (web: Web) => async (req: Request, res: Response) => {
  const query = queryOf(req);
  const review_token = query.get('review_token') ?? '';
  const user = await requireReviewed(req, review_token);
  const document = documentOf(await recoveredBy(req.ctx, user), wantsJson(req) ? wordsIn('en') : wordsOf(req));
  if (wantsJson(req)) {
    res.set('Cache-Control', 'no-store').json(document);
    return;
  }
  const base = formPage(req, res, wordsOf(req).t('review.title'));
  web.renderPage(res, 'account/password-review', {
    ...base,
    review_token,
    return_to: safeReturnTo(query.get('return_to')) ?? '',
    ...document,
  });
};

/** The chosen accounts: `identities` as JSON, a checked `drop:<id>` each as a form. */
function chosen(req: Request): string[] {
  const body = req.body as Record<string, unknown>;
  const listed = Array.isArray(body['identities']) ? (body['identities'] as unknown[]) : [];
  const checked = Object.keys(body).flatMap((name) => (name.startsWith('drop:') ? [name.slice('drop:'.length)] : []));
  return [...listed, ...checked].filter((id): id is string => typeof id === 'string' && isUuid(id));
}

/** POST /password/reset/review: disconnects the chosen accounts. Sign-in comes next. */
export async function review(req: Request, res: Response): Promise<void> {
  const user = await requireReviewed(req, bodyText(req, 'review_token'));
  const disconnected = await dropIdentities(req.ctx, user.id, chosen(req), originOf(req));
  const redirect_to = onward(bodyReturnTo(req));
  if (!wantsJson(req)) return res.redirect(303, redirect_to);
  res.set('Cache-Control', 'no-store').json({ disconnected, redirect_to });
}
