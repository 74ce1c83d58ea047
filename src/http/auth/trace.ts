import type { NextFunction, Request, Response } from 'express';
import { maskedName, maskedUri } from '../../domain/request-traces/shown-text.js';
import type { TraceOutcome, TraceStepName, WaitingTrace } from '../../domain/notes/request-traces.js';
import { BodyError, OAuthError, RateLimitedError, RuledError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { named } from '../../lib/named.js';
import { noParameters, type Parameters } from '../../lib/parameters.js';
import type { RefusalDetail, RefusalRule } from '../../lib/refusal-rules.js';
import { claimedClientId } from './authenticate-client.js';
import { queryOf } from '../request/form.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Where on the way from authorization to tokens the request is; set by `traced`. */
    trace_step?: TraceStepName;
  }
}

/** Middleware: what refuses this request leaves a trace under its id (specification 15.10). */
export const traced = (step: TraceStepName) => (req: Request, _res: Response, next: NextFunction) => {
  req.trace_step = step;
  next();
};

/** The rule of a refusal that names none. */
const rulesOfCodes: Readonly<Record<string, RefusalRule>> = named({
  invalid_request: 'malformed_request',
  invalid_client: 'client_authentication_failed',
  unauthorized_client: 'grant_type_not_allowed',
  unsupported_grant_type: 'unsupported_grant_type',
  access_denied: 'consent_denied',
  expired_token: 'device_code_expired',
  invalid_dpop_proof: 'proof_failed',
  invalid_request_uri: 'request_uri_not_usable',
  login_required: 'sign_in_required',
  consent_required: 'consent_missing',
  unmet_authentication_requirements: 'sign_in_class_not_met',
});

const ruleOfCode = (code: string): RefusalRule => rulesOfCodes[code] ?? (/^(sso|saml)_/.test(code) ? 'provider_answer_refused' : 'refused');

/** Part of how the protocol works: nobody looks for its cause. */
const isRoutine = (code: string) => code === 'authorization_pending' || code === 'slow_down' || code === 'use_dpop_nonce';

type Refused = { readonly error: string; readonly rule: RefusalRule; readonly detail: RefusalDetail; readonly description: string | null };

/** What was refused and why; null for what isn't a refusal: a failure of ours, or a step of the protocol. */
function refusedOf(error: unknown): Refused | null {
  if (error instanceof RateLimitedError) return { error: 'rate_limited', rule: 'rate_limited', detail: {}, description: null };
  if (error instanceof BodyError) return { error: 'invalid_request', rule: 'malformed_request', detail: {}, description: error.message };
  if (!(error instanceof RuledError)) return null;
  const { rule, detail, answer } = error;
  const { status, code, text } = answer;
  if (status >= 500 || isRoutine(code)) return null;
  return { error: code, rule: rule ?? ruleOfCode(code), detail, description: detail.description ?? (rule === null ? text : null) };
}

/** The parameters of the request, wherever they came; none where they can't be read. */
function sentOf(req: Request): Parameters {
  if (req.method === 'POST') return req.form ?? noParameters;
  try {
    return queryOf(req);
  } catch {
    return noParameters;
  }
}

/** What is told of the parameters: names of things, never what proves anything. */
function tracedParameters(sent: Parameters): Record<string, unknown> {
  const [grant_type, resource, scope] = [sent.get('grant_type'), sent.get('resource'), sent.get('scope')];
  const words = scope?.split(' ').filter((word) => word !== '');
  return {
    ...(grant_type === undefined ? {} : { grant_type: maskedName(grant_type) }),
    ...(resource === undefined ? {} : { resource: maskedUri(resource) }),
    ...(words === undefined ? {} : { scope: words.slice(0, 50).map(maskedName) }),
  };
}

/** The parts of a refusal's detail, as they may be kept. */
const tracedDetail = ({
  client_id,
  redirect_uri,
  registered_redirect_uris: registered,
  scopes,
}: RefusalDetail): Record<string, unknown> => ({
  ...(client_id === undefined ? {} : { client_id: maskedName(client_id) }),
  ...(redirect_uri === undefined ? {} : { redirect_uri: maskedUri(redirect_uri) }),
  ...(registered === undefined ? {} : { registered_redirect_uris: registered.slice(0, 20).map(maskedUri) }),
  ...(scopes === undefined ? {} : { scopes: scopes.slice(0, 50).map(({ name, rule }) => ({ name: maskedName(name), rule })) }),
});

/** Where clients prove who they are, and may do so in a header. */
const authenticating: ReadonlySet<TraceStepName> = new Set([
  'token',
  'pushed_authorization_request',
  'device_authorization',
  'backchannel_authentication',
]);

/** The code by which the request goes on with an earlier one. */
function codeIn(sent: Parameters): WaitingTrace['code'] {
  const [code, device_code] = [sent.get('code'), sent.get('device_code') ?? sent.get('auth_req_id')];
  if (code !== undefined) return { digest: digest(code), of: 'authorization' };
  return device_code === undefined ? null : { digest: digest(device_code), of: 'device' };
}

type Noted = Refused | (Omit<Refused, 'error'> & { readonly error: null });

function note(req: Request, sent: Parameters, outcome: TraceOutcome, refused: Noted): void {
  const { ctx, request_id, trace_step: step } = req;
  if (!ctx || step === undefined) return;
  const occurred_at = ctx.clock.now();
  const code = step === 'token' ? codeIn(sent) : null;
  const claimed = sent.get('client_id') ?? (authenticating.has(step) && req.form ? claimedClientId(req) : '');
  // The apostrophe of our own sentences, which would be encoded.
  const sentence = refused.description?.slice(0, 500).replaceAll('’', "'");
  const description = sentence === undefined ? {} : { description: sentence.split(' ').map(maskedName).join(' ') };
  const claim = claimed === '' ? {} : { client_id: maskedName(claimed) };
  ctx.notes.requestTraces.add({
    environment_id: ctx.environment.id,
    request_id,
    occurred_at,
    error: refused.error,
    client_id: req.client?.id ?? refused.detail.client_id ?? null,
    claimed_client_id: claimed === '' ? null : claimed.slice(0, 255),
    step: {
      at: occurred_at.toISOString(),
      step,
      outcome,
      rule: refused.rule,
      detail: { ...claim, ...tracedParameters(sent), ...tracedDetail(refused.detail), ...description },
      request_id,
    },
    code,
  });
}

/**
 * Leaves a trace of the refusal, if the request is on the way from authorization to tokens. It costs the request no statement and can't fail it.
 * @param sent the parameters of the authorization request, where they aren't those of the HTTP request
 */
export function traceRefusal(req: Request, error: unknown, sent: Parameters = sentOf(req)): void {
  const refused = req.trace_step === undefined ? null : refusedOf(error);
  if (refused) note(req, sent, 'refused', refused);
}

/** Leaves a trace of a request that went on with less than its scope. */
export function traceNarrowed(req: Request, sent: Parameters, scopes: NonNullable<RefusalDetail['scopes']>, client_id: string): void {
  const requested = (sent.get('scope') ?? '').split(' ');
  const rule = scopes.find((one) => one.rule !== 'granted' && requested.includes(one.name))?.rule;
  if (rule !== undefined) note(req, sent, 'narrowed', { error: null, rule, detail: { client_id, scopes }, description: null });
}

/** Leaves a trace of tokens that say less than was granted: the client is let in to less since then, or the person holds less. */
export function traceDropped(req: Request, scopes: NonNullable<RefusalDetail['scopes']>): void {
  const rule = scopes.find((one) => one.rule !== 'granted')?.rule;
  if (rule !== undefined)
    note(req, req.form, 'narrowed', { error: null, rule, detail: { client_id: req.client.id, scopes }, description: null });
}

/** The refusal of a person who said no. */
export const deniedByPerson = (client_id: string) =>
  new OAuthError(400, 'access_denied', 'the person did not allow it').by('consent_denied', { client_id });
