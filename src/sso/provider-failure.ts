import { errors as jose } from 'jose';
import { AuthorizationResponseError, ClientError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { requireTime, type Context } from '../domain/context.js';
import { SamlRefusal, samlRules } from '../domain/saml/saml-refusal.js';
import { PageError } from '../errors.js';
import { OutboundError } from '../platform/fetch/outbound-error.js';
import { ssoRefusal } from './refusal.js';

/** A failure at a provider. The message is for the log and the connection test, and holds no token, code or secret. */
export class ProviderFailure extends Error {
  constructor(
    message: string,
    /** The status that the provider answered with, when it answered. */
    readonly status: number | null = null,
  ) {
    super(message);
    this.name = 'ProviderFailure';
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are what goes
const clean = (text: string) => text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, 300);

/** The messages of an error and its causes. The libraries keep whole answers as further members of theirs: those stay out. */
function messages(error: unknown): string {
  const texts: string[] = [];
  for (let cause = error; cause instanceof Error && texts.length < 4; cause = cause.cause) texts.push(cause.message);
  return texts.join(': ');
}

/** Describes an error without text of the provider, except the protocol's error code. */
function describeFailure(error: unknown): string {
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    return clean(`the provider answered ${error.error}${error.error_description === undefined ? '' : ` (${error.error_description})`}`);
  }
  if (error instanceof WWWAuthenticateChallengeError) return `the provider answered ${error.status} and asks for other credentials`;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OutboundError) return clean(`${cause.reason}: ${cause.message}`);
  }
  if (error instanceof jose.JOSEError) return clean(`the ID token: ${error.message}`);
  return clean(error instanceof Error ? messages(error) : 'unknown failure');
}

/** An answer that contradicts what was asked, rather than none: 400, and for the nonce the code that says "not this browser's". */
function refusedAnswer(error: unknown): 'sso_state_mismatch' | 'sso_provider_error' | null {
  if (!(error instanceof ClientError)) return null;
  const texts = messages(error);
  if (/"nonce"/.test(texts)) return 'sso_state_mismatch';
  return /JWT "/.test(texts) || error.code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' || error.code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED'
    ? 'sso_provider_error'
    : null;
}

/** The refusal for whatever a strategy threw: 502, or 400 for an answer whose claims contradict what was asked (specification 8.2.3). */
export function providerRefusal(error: unknown): PageError {
  if (error instanceof PageError) return error;
  if (error instanceof SamlRefusal) return ssoRefusal(samlRules[error.rule], { cause: new ProviderFailure(clean(error.message)) });
  const cause = new ProviderFailure(describeFailure(error));
  const code = refusedAnswer(error);
  return code === null ? ssoRefusal('sso_provider_error', { cause }) : ssoRefusal(code, { status: 400, cause });
}

const limitMs = 8000;

/**
 * Ends in time, whatever the provider does (specification 8.2.3: within 10 s), and isn't begun for a request that has none left; what is still on its way
 * ends by its own limits.
 */
export async function inTime<T>(ctx: Context, begin: () => Promise<T>): Promise<T> {
  requireTime(ctx);
  const ms = Math.min(limitMs, ctx.scope.deadline.left());
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ProviderFailure(`the provider took longer than ${Math.round(ms)} ms`)), ms);
  });
  const work = begin();
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
