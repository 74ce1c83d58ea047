import type { Request, Response } from 'express';
import { approvalPath } from '../../domain/approvals/approvals.js';
import { approveElsewhere, refuseElsewhere } from '../../domain/approvals/decide.js';
import { classes, satisfies, type AuthenticationClass } from '../../domain/proofs/classes.js';
import { requirementOf } from '../../domain/proofs/sign-in-requirement.js';
import { acrValuesOf } from '../../domain/sessions/authentication-context.js';
import { PageError } from '../../errors.js';
import { sessionOf } from '../../http/auth/browser-session.js';
import { letConfirmed } from '../../http/confirmation/ask-to-confirm.js';
import { originOf } from '../../http/pages/mail-origin.js';
import { basePage } from '../../http/pages/pages.js';
import { shownNameOf } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';
import type { Web } from '../../http/web.js';
import { message } from '../../lib/languages/messages.js';
import { chosenOf, isSignInMet } from '../device/sign-in-met.js';
import { approvalQuestion, renderApproval, type OpenQuestion } from './page.js';

/**
 * The class that approving takes: what the client asked for (any of its values), what is required of sign-ins, and with `fresh` a second factor or a passkey, as far
 * as people can have one here.
 */
function demandedClass({ ctx }: Request, { approval, client, resource, organization_choice }: OpenQuestion): AuthenticationClass {
  const { acr: required } = requirementOf(client, resource, chosenOf(organization_choice));
  const lowest = classes.find((one) => approval.acr_values.includes(one)) ?? '1';
  const strong = acrValuesOf(ctx.environment).find((one) => one !== '1') ?? '1';
  const fresh = ctx.environment.approval_confirmation === 'fresh' ? strong : '1';
  const demanded: readonly AuthenticationClass[] = [required ?? '1', lowest, fresh];
  return demanded.reduce((one, other) => (satisfies(one, other) ? one : other));
}

/** Since when the proofs have to be that approve: each approves once, and none is older than what it approves. */
function provenSince({ ctx }: Request, { approval }: OpenQuestion): Date {
  const { approval_confirmation, confirmation_lifetime } = ctx.environment;
  if (approval_confirmation === 'session') return new Date(0);
  const times = [
    approval.created_at.getTime(),
    ctx.clock.now().getTime() - confirmation_lifetime * 1000,
    (approval.approved_at?.getTime() ?? 0) + 1,
  ];
  return new Date(Math.max(...times));
}

/** Whether the person may say yes now; else the page that takes what is missing has been answered. @throws {PageError} 403 */
async function mayApprove(web: Web, req: Request, res: Response, question: OpenQuestion): Promise<boolean> {
  if (!(await isSignInMet(req, res, question, approvalPath(question.approval.id)))) return false;
  return letConfirmed(web, req, res, { demanded: demandedClass(req, question), since: provenSince(req, question) });
}

function renderAnswer(web: Web, req: Request, res: Response, { client }: OpenQuestion, allowed: boolean): void {
  const words = wordsOf(req);
  const name = shownNameOf(words, client);
  web.renderPage(res, 'account/message', {
    ...basePage(req.ctx.environment, { title: words.t(allowed ? 'approval.allowed' : 'approval.denied'), request_id: req.request_id }),
    tone: allowed ? 'good' : 'info',
    text: [words.t(allowed ? 'approval.allowed_text' : 'approval.denied_text', { client: name })],
    next: { href: '/account', label: words.t('device_answer.next') },
  });
}

/** POST /approvals/{id} (CIBA Core 1.0 8): the person's yes, no, or no for a day; it counts once. @throws {PageError} 400, 403, 404 */
export function decideApproval(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { ctx, form } = req;
    const question = await approvalQuestion(req);
    const decision = form.get('decision');
    if (decision === undefined && form.all['organization'] !== undefined) return renderApproval(web, req, res, question);
    if (decision !== 'allow' && decision !== 'deny' && decision !== 'mute')
      throw new PageError(400, 'invalid_request', message('refusal.no_answer'));
    const allowed = decision === 'allow';
    if (allowed && !(await mayApprove(web, req, res, question))) return;
    // Of a session that has a new token since, if the proofs came with this form.
    const answerer = { session: sessionOf(req), origin: originOf(req) };
    const { approval, client, resource, organization_choice, scopes, authorization_details } = question;
    const allowing = {
      digest: approval.digest,
      client,
      resource,
      organization: chosenOf(organization_choice),
      scopes,
      authorization_details,
      acr_values: approval.acr_values,
    };
    const answered = allowed
      ? await approveElsewhere(ctx, approval, allowing, answerer)
      : await refuseElsewhere(ctx, approval, answerer, decision === 'mute');
    // Unless it is over, its proofs have approved another one meanwhile: it takes its own.
    if (!answered) return renderApproval(web, req, res, await approvalQuestion(req));
    renderAnswer(web, req, res, question, allowed);
  };
}
