import type { Request, Response } from 'express';
import { apiResourceOf, enabledClient } from '../../domain/clients/clients.js';
import { approveDevice, denyDevice, type DeviceQuestion } from '../../domain/device-codes/answer.js';
import { PageError } from '../../errors.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { basePage } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { shownNameOf } from '../authorize/shown-client.js';
import { sessionOf } from './page.js';
import { devicePath } from './paths.js';
import { openQuestion } from './question.js';
import { isSignInMet } from './sign-in-met.js';

const again = { href: devicePath, label: 'Enter another code' };

const refuse = (code: string, text: string) => new PageError(400, code, text, {}, undefined, again);

/** What the page asked, of a client that may still ask. @throws {PageError} 400 */
async function questionOf(req: Request): Promise<DeviceQuestion & { readonly since: number }> {
  const { ctx, form } = req;
  const question = openQuestion(ctx, sessionOf(req), form.get('question') ?? '');
  if (!question) throw refuse('invalid_request', 'This form was changed or belongs to another sign-in. Enter the code once more.');
  const client = await enabledClient(ctx, question.client_id);
  if (!client?.grant_types.includes(deviceCodeGrantType)) throw refuse('invalid_client', 'The application is no longer available.');
  const resource = question.resource === null ? null : await apiResourceOf(ctx, question.resource);
  if (question.resource !== null && !resource) throw refuse('invalid_target', 'What the application asked for is no longer available.');
  return { ...question, client, resource };
}

/** POST /device/answer (RFC 8628 3.3): the person's yes or no, which counts once. @throws {PageError} 400 */
export function answerDevice(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { ctx, form } = req;
    const decision = form.get('decision');
    if (decision !== 'allow' && decision !== 'deny')
      throw new PageError(400, 'invalid_request', 'The form was sent without an answer. Go back and choose one.');
    const question = await questionOf(req);
    const answerer = { session: sessionOf(req), origin: originOf(req) };
    const allowed = decision === 'allow';
    if (allowed && !(await isSignInMet(req, res, question, null))) return;
    const answered = await (allowed ? approveDevice : denyDevice)(ctx, question, answerer);
    if (!answered) throw refuse('expired_token', 'This code was answered before, or has expired. Start again on the device.');
    const name = shownNameOf(question.client);
    const page = allowed
      ? {
          title: 'The device is connected',
          tone: 'good' as const,
          text: [`${name} goes on there in a moment. You can close this page.`, 'In your account you can end its session at any time.'],
          next: { href: '/account', label: 'Go to your account' },
        }
      : {
          title: 'The device was not connected',
          tone: 'info' as const,
          text: [`${name} was not allowed to use your account. If you did not start this yourself, there is nothing more to do.`],
          next: again,
        };
    web.renderPage(res, 'account/message', { ...basePage(ctx.environment, { title: page.title, request_id: req.request_id }), ...page });
  };
}
