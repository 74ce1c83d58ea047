import type { Request, Response } from 'express';
import type { ConsentQuestion } from '../../domain/grants/consents.js';
import type { Context } from '../../domain/context.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import { listPermissionsOfResource } from '../../db/tables/permissions.js';
import { formPage } from '../../http/auth/csrf.js';
import { formActionSource, type ConsentPage } from '../../http/pages/pages.js';
import { detailText } from '../../http/pages/detail-texts.js';
import { scopeText } from '../../http/pages/scope-texts.js';
import type { Web } from '../../http/web.js';
import { isNativeRedirectUri } from '../../lib/redirect-uri.js';
import { detailBox } from './allowed-details.js';
import { journeyForm, type SentRequest } from './pending.js';
import type { AuthorizationRequest } from './request.js';
import { shownClient, unverifiedNotice } from '../../http/pages/shown-client.js';
import { wordsOf, type Words } from '../../http/pages/words.js';

/** Scopes in words: the standard ones in ours, permissions in their description's; what reads the same is told apart by its name. */
export async function scopeTexts(
  ctx: Context,
  words: Words,
  { resource }: Pick<AuthorizationRequest, 'resource'>,
  question: Pick<ConsentQuestion, 'scopes'>,
): Promise<ConsentPage['scopes']> {
  const permissions = resource === null ? [] : await listPermissionsOfResource(ctx.scope, resource.id);
  const described = new Map(permissions.map((permission) => [permission.name, permission.description]));
  const texts = question.scopes.map((name) => ({ name, text: scopeText(words, name, described.get(name)) }));
  const all =
    resource === null ? texts : [...texts, { name: resource.identifier, text: words.t('scope.act_at', { resource: resource.name }) }];
  return all.map((one) => ({ ...one, is_repeated: all.some(({ name, text }) => name !== one.name && text === one.text) }));
}

/** Details in words, each with the name of its box. */
export const detailTexts = (
  { environment }: Context,
  words: Words,
  { resource, authorization_details }: Pick<AuthorizationRequest, 'resource' | 'authorization_details'>,
): ConsentPage['details'] =>
  (authorization_details ?? []).map((detail, index) => {
    const type = resource?.detail_types.get(detail.type);
    if (!type) throw new Error('a detail that nobody can read was not refused');
    return { name: detailBox(index), ...detailText(environment, words, type, detail) };
  });

/**
 * Where the browser goes on to: the host; an application on the device by its name, with its address beside it, a private-use scheme or a loopback
 * port (RFC 8252 7.1, 7.3), for an address like `cursor:` says little to people.
 */
function destinationOf(redirect_uri: string, client: ConsentPage['client']): ConsentPage['destination'] {
  const { host, protocol } = new URL(redirect_uri);
  if (!isNativeRedirectUri(redirect_uri)) return { name: host, address: null };
  return { name: client.name, address: protocol === 'http:' ? host : protocol };
}

/** The consent page. The request is sealed into its form; the client's origin is a form action, because Chromium applies that to redirects too. */
export async function renderConsent(
  web: Web,
  req: Request,
  res: Response,
  consent: { sent: SentRequest; request: AuthorizationRequest; session: BrowserSession; question: ConsentQuestion },
): Promise<void> {
  const { ctx } = req;
  const { request, session, question } = consent;
  const { redirect_uri } = request;
  req.branded_for = request.client;
  const words = wordsOf(req);
  const client = shownClient(words, request.client);
  const title = words.t('consent.title', { client: client.name });
  web.renderPage(
    res,
    'oauth/consent',
    {
      ...formPage(req, res, title),
      client,
      unverified: unverifiedNotice(words, request.client, redirect_uri),
      destination: destinationOf(redirect_uri, client),
      user: { email: session.user_email, name: [session.user_first_name, session.user_last_name].filter(Boolean).join(' ') },
      scopes: await scopeTexts(ctx, words, request, question),
      details: detailTexts(ctx, words, request),
      ...journeyForm(req, 'consent', consent.sent),
    },
    { formAction: [formActionSource(redirect_uri)] },
  );
}
