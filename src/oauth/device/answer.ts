import type { Request, Response } from 'express';
import { sessionOf } from '../../http/auth/browser-session.js';
import { apiResourceOf, enabledClient } from '../../domain/clients/clients.js';
import { approveDevice, denyDevice, type DeviceQuestion } from '../../domain/device-codes/answer.js';
import { organizationChoice, personalAccount } from '../../domain/organizations/requested.js';
import { PageError } from '../../errors.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { basePage } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { shownNameOf } from '../../http/pages/shown-client.js';
import { devicePath } from '../../http/request/return-to.js';
import { allowedIn, detailsStillAsked, onlyAllowed } from '../authorize/allowed-details.js';
import { anotherCode } from './paths.js';
import { openQuestion } from './question.js';
import { chosenOf, isSignInMet, type DeviceAuthorization } from './sign-in-met.js';
import { wordsOf } from '../../http/pages/words.js';
import { message, type Message } from '../../lib/languages/messages.js';

const refuse = (code: string, text: Message) => new PageError(400, code, text, {}, undefined, anotherCode);

/** What the page asked, of a client that may still ask. @throws {PageError} 400 */
async function questionOf(req: Request): Promise<DeviceQuestion & Pick<DeviceAuthorization, 'since' | 'organization_choice'>> {
  const { ctx, form } = req;
  const question = openQuestion(ctx, sessionOf(req), form.get('question') ?? '');
  if (!question) throw refuse('invalid_request', message('refusal.device_form'));
  const client = await enabledClient(ctx, question.client_id);
  if (!client?.grant_types.includes(deviceCodeGrantType)) throw refuse('invalid_client', message('refusal.application_gone'));
  const resource = question.resource === null ? null : await apiResourceOf(ctx, question.resource);
  if (question.resource !== null && !resource) throw refuse('invalid_target', message('refusal.resource_gone'));
  const word = question.organization ?? personalAccount;
  const organization_choice = await organizationChoice(ctx, client, word, sessionOf(req));
  const authorization_details = detailsStillAsked({ client, resource }, question.authorization_details, anotherCode);
  const requested = {
    ...question,
    authorization_details,
    client,
    resource,
    organization_choice,
    organization: chosenOf(organization_choice),
  };
  return onlyAllowed(requested, allowedIn(form));
}

/** POST /device/answer (RFC 8628 3.3): the person's yes or no, which counts once. @throws {PageError} 400 */
export const answerDevice = (web: Web) => async (req: Request, res: Response) => {
  const { ctx, form } = req;
  const decision = form.get('decision');
  if (decision !== 'allow' && decision !== 'deny') throw new PageError(400, 'invalid_request', message('refusal.no_answer'));
  const question = await questionOf(req);
  const answerer = { session: sessionOf(req), origin: originOf(req) };
  const allowed = decision === 'allow';
  if (allowed && !(await isSignInMet(req, res, question, devicePath))) return;
  const answered = await (allowed ? approveDevice : denyDevice)(ctx, question, answerer);
  if (!answered) throw refuse('expired_token', message('refusal.device_code_answered'));
  const words = wordsOf(req);
  const { t } = words;
  const client = shownNameOf(words, question.client);
  const page = allowed
    ? {
        title: t('device_answer.allowed'),
        tone: 'good' as const,
        text: [t('device_answer.allowed_text', { client }), t('device_answer.allowed_end')],
        next: { href: '/account', label: t('device_answer.next') },
      }
    : {
        title: t('device_answer.denied'),
        tone: 'info' as const,
        text: [t('device_answer.denied_text', { client })],
        next: { href: anotherCode.href, label: t(anotherCode.label) },
      };
  web.renderPage(res, 'account/message', { ...basePage(ctx.environment, { title: page.title, request_id: req.request_id }), ...page });
};
