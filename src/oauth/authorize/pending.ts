import type { Request, Response } from 'express';
import { PageError } from '../../errors.js';
import {
  journeyPaths,
  openPending,
  pendingPath,
  protocolOf,
  sealPending,
  withReturnTo,
  type PendingAuthorization,
  type PendingProtocol,
} from '../../http/request/return-to.js';
import type { Parameters } from '../../lib/parameters.js';
import type { MissingStep } from './interaction-check.js';
import { message } from '../../lib/languages/messages.js';

export type SentRequest = {
  readonly parameters: Parameters;
  /** Of a pushed request (RFC 9126): the digest of its reference, and what goes through sign-in and consent in the place of its parameters. */
  readonly pushed?: { readonly reference: Buffer; readonly carried: Parameters };
  /** When it first came, in milliseconds; it keeps that through sign-in and consent. */
  readonly since: number;
  /** The person was asked for the class that the client wishes for (`acr_values`). */
  readonly wished?: boolean;
  /** The organization that the person chose in the place of what the request names; empty: none. */
  readonly organization?: string;
  /** What a SAML request says beside its parameters; an OAuth request has none. */
  readonly saml?: PendingAuthorization['saml'];
};

/** What this service reads of an authorization request; nothing else is carried along. */
const known = [
  'response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'resource', 'code_challenge', 'code_challenge_method', 'response_mode', 'nonce',
  'prompt', 'max_age', 'acr_values', 'login_hint', 'id_token_hint', 'claims', 'request', 'request_uri', 'registration', 'dpop_jkt', 'ui_locales',
  'organization', 'authorization_details',
]; // prettier-ignore

/** The request in the form in which it is sealed. */
function toPending(sent: SentRequest, fresh = false, from?: number): PendingAuthorization {
  const { all, repeated } = sent.pushed?.carried ?? sent.parameters;
  const parameters = Object.fromEntries(known.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]] as const])));
  const { since: at, wished, organization, saml } = sent;
  return {
    parameters,
    repeated: [...repeated].slice(0, 1),
    at,
    fresh,
    ...(from !== undefined && { from }),
    ...(wished && { wished }),
    ...(organization !== undefined && { organization }),
    ...(saml && { saml }),
  };
}

/** The request behind a sealed handle, or null when it was changed, is too old, or another protocol's. */
export function openRequest(req: Request, handle: string | undefined, protocol: PendingProtocol): SentRequest | null {
  const pending = handle === undefined ? null : openPending(req, handle);
  if (!pending || protocolOf(pending) !== protocol) return null;
  const all = pending.parameters;
  const parameters = { all, repeated: new Set(pending.repeated), get: (name: string) => all[name] || undefined };
  const { at: since, wished, organization, saml } = pending;
  return { parameters, since, ...(wished && { wished }), ...(organization !== undefined && { organization }), ...(saml && { saml }) };
}

/** Where a form of the request's pages leads, and what it carries. */
export function journeyForm(req: Request, page: 'consent' | 'organization', sent: SentRequest) {
  const pending = toPending(sent);
  return { action: journeyPaths[protocolOf(pending)][page], hidden: { request: sealPending(req, pending) } };
}

/** Characters of a `return_to` path that the login page accepts and browsers take in a `Location` header. */
const maxPathLength = 16_000;

function pathTo(req: Request, sent: SentRequest, fresh: boolean, from?: number): string {
  const path = pendingPath(req, toPending(sent, fresh, from));
  if (path.length > maxPathLength) throw new PageError(400, 'invalid_request', message('refusal.application_link_too_long'));
  return path;
}

/** The moment after all sign-ins that there are. */
const fromNow = ({ ctx }: Request): number => ctx.clock.now().getTime() + 1;

/** The address of the login page for a sign-in from now on, whoever is signed in. */
export const anotherSignIn = (req: Request, sent: SentRequest): string => withReturnTo('/login', {}, pathTo(req, sent, true, fromNow(req)));

/**
 * Sends the person to the login page; the request is sealed into the address to return to.
 * @param again whether a sign-in that came after the request doesn't do either
 */
export function sendToLogin(req: Request, res: Response, sent: SentRequest, fresh: boolean, again = false): void {
  const path = pathTo(req, sent, fresh, again ? fromNow(req) : undefined);
  const hint = sent.parameters.get('login_hint');
  const query = new URLSearchParams({ return_to: path, ...(hint !== undefined && hint.length <= 255 ? { login_hint: hint } : {}) });
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, `/login?${query.toString()}`);
}

/**
 * Sends somebody who is signed in to the page of the step that is missing, with the class that it is to reach; the request waits as it does for a sign-in.
 */
export function sendToStep(req: Request, res: Response, sent: SentRequest, { stage, acr, wished }: MissingStep): void {
  const query = new URLSearchParams({ acr_values: acr, return_to: pathTo(req, wished ? { ...sent, wished } : sent, false) });
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, `/login/${stage}?${query.toString()}`);
}

/**
 * Redirects the browser to the same request by GET. A form that another site posts comes without our SameSite cookie, the GET that follows it comes
 * with it, so that somebody who is signed in isn't asked again.
 */
export function redirectToGet(req: Request, res: Response, sent: SentRequest): void {
  res.setHeader('Cache-Control', 'no-store');
  res.redirect(303, pathTo(req, sent, false));
}
