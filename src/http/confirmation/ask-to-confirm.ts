import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { sessionOf } from '../auth/browser-session.js';
import type { AuthenticationClass } from '../../domain/proofs/classes.js';
import { PageError } from '../../errors.js';
import { formPage } from '../auth/csrf.js';
import {
  confirmationAnswerOf,
  demandedOf,
  heldNames,
  isStale,
  limitProofs,
  proofsSince,
  prove,
  type Answer,
  type ProofNames,
  type ProofOutcome,
} from './confirmation.js';
import { passkeyPart } from '../auth/passkey-part.js';
import { provePath, waysToProve, type WaysToProve } from './proof-ways.js';
import { errorMessage } from '../pages/error-texts.js';
import { isLanguageSwitch, languageField } from '../pages/language-switch.js';
import type { FormPage, PageConnection, PagePasskey } from '../pages/page-models.js';
import { wantsJson } from '../request/form.js';
import type { Web } from '../web.js';
import { wordsOf } from '../pages/words.js';
import { message, type Message } from '../../lib/languages/messages.js';

/**
 * Asks somebody signed in to show that it is still them. Each way is a form of its own that posts `hidden` and its proof, under the name in `names`,
 * to `action`.
 */
export interface ConfirmPage extends FormPage {
  action: string;
  hidden: Record<string, string>;
  names: ProofNames;
  email: string;
  ways: Omit<WaysToProve, 'connections'>;
  /** `href` leads back to where the proof is needed. */
  connections: (PageConnection & { href: string })[];
  /** Null where a passkey is none of the ways. */
  passkey: PagePasskey | null;
  /** A form waits on this page: what leads away from it opens beside it. */
  held: boolean;
  /** Whether the form can be sent for this page in another language, with {@link heldField}. */
  switches?: boolean | undefined;
}

declare module '../pages/page-models.js' {
  interface PageModels {
    'account/confirm': ConfirmPage;
  }
}

/** A proof that didn't do. */
export type Failed = { readonly answer: Answer; readonly outcome: ProofOutcome };

const minutesOf = (seconds: number) => Math.ceil(seconds / 60);

/** The status, the code and the sentence of a failed proof; further members of the JSON answer. */
type Failure = {
  readonly status: number;
  readonly code: string;
  readonly text: Message;
  readonly extra: Readonly<Record<string, unknown>>;
};
const failure = (status: number, code: string, text: Message, extra: Failure['extra'] = {}): Failure => ({ status, code, text, extra });

function wrongProof(method: Answer['method'], attempts_left: number | null): Failure {
  if (method === 'password') return failure(401, 'invalid_password', errorMessage('invalid_password'));
  const text = method === 'recovery_code' ? message('refusal.confirm_recovery_code_wrong') : message('refusal.confirm_code_wrong');
  if (attempts_left === null) return failure(422, 'invalid_code', text);
  const second = message('refusal.tries_left', { count: attempts_left });
  return failure(422, 'invalid_code', message('common.sentences', { first: text, second }), { attempts_left });
}

/** What is said of a proof that didn't do. */
export function proofFailureOf({ answer, outcome }: Failed): Failure {
  switch (outcome.outcome) {
    case 'confirmed':
      return failure(403, 'confirmation_required', message('refusal.one_more_proof'));
    case 'locked': {
      const text = message('refusal.confirm_locked', { minutes: minutesOf(outcome.retry_after) });
      return failure(429, 'second_factor_locked', text, { retry_after: outcome.retry_after });
    }
    case 'method_unavailable':
      return failure(403, 'second_factor_unavailable', errorMessage('second_factor_unavailable'));
    case 'expired':
      return failure(410, 'challenge_expired', errorMessage('challenge_expired'));
    case 'refused':
      return failure(401, 'passkey_refused', message('refusal.confirm_passkey'));
    case 'wrong':
      return wrongProof(answer.method, outcome.attempts_left);
  }
}

/** The name of the field that a wrong proof was in; `form` for what no other entry there would mend. */
function fieldOf({ answer: { method }, outcome }: Failed, names: ProofNames): string {
  if (outcome.outcome !== 'wrong') return 'form';
  return method === 'password' ? names.password : method === 'recovery_code' ? names.recovery_code : names.code;
}

/** What a page that asks is made of. */
export type ConfirmForm = {
  readonly demanded: AuthenticationClass;
  /** Only proofs since then count; null: those of the session. */
  readonly since?: Date | null;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly names: ProofNames;
  /** Where a sign-in through a connection comes back to. */
  readonly back: string;
  readonly held: boolean;
  readonly switches?: boolean;
  readonly failed?: Failed | null;
  readonly status: number;
};

/** Answers with the page that asks. */
export async function renderConfirm(web: Web, req: Request, res: Response, form: ConfirmForm): Promise<void> {
  const { demanded, since = null, action, hidden, names, back, held, switches = false, failed = null, status } = form;
  const { t, say } = wordsOf(req);
  const { connections, ...ways } = await waysToProve(req, demanded, proofsSince(req, since));
  const failing = failed && proofFailureOf(failed);
  const proven = failed?.outcome.outcome === 'confirmed';
  if (failed?.outcome.outcome === 'locked') res.set('Retry-After', String(failed.outcome.retry_after));
  web.renderPage(
    res,
    'account/confirm',
    {
      ...formPage(req, res, t('confirm.title')),
      action,
      hidden: { ...hidden },
      names,
      email: sessionOf(req).user_email,
      ways,
      connections: connections.map((connection) => ({ ...connection, href: provePath(connection, back) })),
      passkey: ways.methods.includes('passkey') ? passkeyPart(req, `${confirmPath}/passkey/options`, null) : null,
      held,
      switches,
      notice: failing && proven ? { tone: 'info', text: say(failing.text) } : null,
      errors: failed && failing && !proven ? { [fieldOf(failed, names)]: say(failing.text) } : undefined,
    },
    { status },
  );
}

/** Where somebody comes back to from elsewhere, when a form waits on the page beside: it tells them to go back there. */
export const confirmPath = '/account/confirm';

/** Tells a held form that is sent for its page in another language from one that has such a page itself. */
const heldField = '_held';

/** The form of the request as a page holds it: its fields but for the proof, the token, and what is said of the page. */
function heldFields(req: Request): Record<string, string> {
  const own = new Set<string>(['_csrf', languageField, heldField, ...Object.values(heldNames)]);
  return Object.fromEntries(Object.entries(req.form.all).filter(([name]) => !own.has(name)));
}

/** A form that must be confirmed first, whose handler found that out: {@link askForForm} answers it. */
export class ConfirmationNeeded extends Error {
  constructor(
    readonly demanded: AuthenticationClass,
    readonly failed: Failed | null,
    readonly since: Date | null = null,
  ) {
    super('the session must be confirmed');
    this.name = 'ConfirmationNeeded';
  }
}

/** Answers a form with the page that asks and holds it: nothing that was typed is lost. */
async function holdForm(
  web: Web,
  req: Request,
  res: Response,
  { demanded, failed, since }: ConfirmationNeeded,
  { status, switches }: Pick<ConfirmForm, 'status' | 'switches'>,
): Promise<void> {
  const action = req.originalUrl.split('?')[0] ?? req.originalUrl;
  const hidden = heldFields(req);
  const held = { action, hidden, names: heldNames, back: confirmPath, held: true, switches: switches ?? false };
  await renderConfirm(web, req, res, { demanded, since, failed, status, ...held });
}

/** Error handler: answers {@link ConfirmationNeeded} with 422, as forms that can't be taken yet are. */
export function askForForm(web: Web): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (!(error instanceof ConfirmationNeeded)) return next(error);
    holdForm(web, req, res, error, { status: 422 }).catch(next);
  };
}

/** Judges the proof that a held form bears. Null: the session is confirmed. */
export async function confirmByForm(
  req: Request,
  res: Response,
  demanded: AuthenticationClass,
  since: Date | null = null,
): Promise<ConfirmationNeeded | null> {
  if (!isStale(req, demanded, since)) return null;
  const answer = confirmationAnswerOf(req, heldNames);
  const outcome = answer && (await prove(req, res, answer));
  if (!isStale(req, demanded, since)) return null;
  return new ConfirmationNeeded(demanded, answer && outcome && { answer, outcome }, since);
}

/** The same as JSON. */
function refusalOf({ failed }: ConfirmationNeeded, code: string): PageError {
  if (!failed || failed.outcome.outcome === 'confirmed') return new PageError(403, code, errorMessage('confirmation_required'));
  const { status, code: own, text, extra } = proofFailureOf(failed);
  const fields = own === 'invalid_password' ? { fields: { [heldNames.password]: [own] } } : {};
  return new PageError(status, own, text, { ...fields, ...extra });
}

/** What a change takes, and the code of the refusal to JSON clients. */
export type Confirming = { readonly demanded: AuthenticationClass; readonly since?: Date | null; readonly code?: string };

/**
 * Whether the session is confirmed, by a proof beside the form too; else that was answered. Needs the session, a parsed body, `csrf` and {@link limitProofs}
 * before.
 * @throws {PageError} as {@link confirmed}
 */
export async function letConfirmed(
  web: Web,
  req: Request,
  res: Response,
  { demanded, since = null, code = 'confirmation_required' }: Confirming,
): Promise<boolean> {
  // Confirmed meanwhile or not: what is held isn't done by choosing a language.
  if (req.form.get(heldField) !== undefined && isLanguageSwitch(req, res)) {
    await holdForm(web, req, res, new ConfirmationNeeded(demanded, null, since), { status: 200, switches: true });
    return false;
  }
  const needed = await confirmByForm(req, res, demanded, since);
  if (needed === null) return true;
  if (wantsJson(req)) throw refusalOf(needed, code);
  await holdForm(web, req, res, needed, { status: needed.failed ? proofFailureOf(needed.failed).status : 403, switches: true });
  return false;
}

/**
 * Lets a change pass while the session is confirmed for the class that it takes, or with a proof beside it: others get a page that asks for one and
 * holds their form, JSON 403 with the code, or the refusal of the proof. Needs the session, a parsed body and `csrf` before.
 * @throws {PageError} 403 with the code, or as the proof is refused
 */
export function confirmed(web: Web, { code }: { code?: string } = {}): RequestHandler[] {
  const require: RequestHandler = async (req, res, next) => {
    if (req.session === null) return next();
    if (await letConfirmed(web, req, res, { demanded: demandedOf(req), ...(code !== undefined && { code }) })) next();
  };
  return [...limitProofs(web, heldNames), require];
}
