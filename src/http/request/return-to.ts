import type { Request } from 'express';
import type { BrandedClient } from '../../domain/environments/branding.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Where the request returns to after sign-in, once that is known from elsewhere than its own parameters. */
    return_to?: string | null;
    /** What was found at the return path that was looked at last: a page asks for it several times, and opening it costs more than most of the page. */
    opened_pending?: { readonly return_to: string; readonly pending: PendingAuthorization | null };
    /** The return path in the query of the address, once that was read. */
    queried_return_to?: string | null;
    /** The client that pages look like: whose sign-in or sign-out is under way. */
    branded_for?: BrandedClient | null;
  }
}

/** Paths that resolve to themselves: of characters that none encodes, and without a segment of dots (URL Standard 4.4). Ours nearly all are such. */
const asItIs = /^\/(?!\/)[\w/~-]*(?:\?[\w/.~=&%+*:-]+)?$/;

/**
 * The path to return to after sign-in, or null. Only a path of our own: it is resolved as a browser does, and must stay on
 * the origin (CWE-601); backslashes, control characters and a second slash are refused outright.
 */
export function safeReturnTo(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 16_384) return null;
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(value)) return null;
  if (asItIs.test(value)) return value;
  const own = 'http://own.invalid';
  const url = URL.canParse(value, own) ? new URL(value, own) : null;
  return url?.origin === own && !url.pathname.startsWith('//') ? url.pathname + url.search : null;
}

/** A path of ours with fields in its query, and where the journey goes on after it. */
export function withReturnTo(path: string, fields: Record<string, string>, return_to: string | null): string {
  const query = new URLSearchParams({ ...fields, ...(return_to !== null && { return_to }) }).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** Where a person types the code that a device shows: short, for it is typed as well (RFC 8628 3.3). */
export const devicePath = '/device';

/** Whether the journey goes on to the page for the code of a device. */
export const leadsToDevice = (return_to: string | null): boolean =>
  return_to === devicePath || return_to?.startsWith(`${devicePath}?`) === true;

/** In which protocol an application asks for a sign-in. */
export type PendingProtocol = 'oauth' | 'saml';

/** Where a request goes on after the sign-in, and where its pages are posted to. */
export const journeyPaths = {
  oauth: { resume: '/oauth/authorize/resume', consent: '/oauth/consent', organization: '/oauth/organization' },
  saml: { resume: '/saml/resume', consent: '/saml/consent', organization: '/saml/organization' },
} as const satisfies Readonly<Record<PendingProtocol, unknown>>;

const resumePaths = Object.values(journeyPaths).map(({ resume }) => resume);
const aad = 'authorization-request';
const lifetimeMs = 3_600_000;

/** An authorization request that waits for the person: its parameters, and when it came. */
export type PendingAuthorization = {
  readonly parameters: Readonly<Record<string, string>>;
  /** A name that was sent twice, for the refusal that is due. */
  readonly repeated: readonly string[];
  /** Milliseconds; a login after this moment satisfies `prompt=login`. */
  readonly at: number;
  /** Whether only a sign-in after `at` is accepted. */
  readonly fresh: boolean;
  /** Milliseconds, where that is another moment than `at`, after which a sign-in has to be. */
  readonly from?: number;
  /** The person was asked for the class that the client wishes for: once is enough. */
  readonly wished?: boolean;
  /** The organization that the person chose in the place of what the request names; empty: none. */
  readonly organization?: string;
  /** Of a SAML request: its ID, null where the sign-in begins here; whether it asks for a new sign-in; the classes of which it demands one. */
  readonly saml?: { readonly request_id: string | null; readonly is_new: boolean; readonly contexts: readonly string[] };
};

export const protocolOf = ({ saml }: PendingAuthorization): PendingProtocol => (saml === undefined ? 'oauth' : 'saml');

/** The request, sealed, as text for a URL or a form field. */
export const sealPending = (req: Request, pending: PendingAuthorization): string =>
  req.ctx.crypto.sealer.sealText(JSON.stringify(pending), `${aad} ${req.ctx.environment.id}`);

/** The path that resumes the request, with the request sealed in its query. */
export const pendingPath = (req: Request, pending: PendingAuthorization): string =>
  `${journeyPaths[protocolOf(pending)].resume}?request=${sealPending(req, pending)}`;

/** The pending request behind a sealed handle, or null when it was changed or is older than an hour. */
export function openPending(req: Request, handle: string): PendingAuthorization | null {
  const text = req.ctx.crypto.sealer.openText(handle, `${aad} ${req.ctx.environment.id}`);
  if (text === null) return null;
  const pending = JSON.parse(text) as PendingAuthorization;
  return req.ctx.clock.now().getTime() - pending.at < lifetimeMs ? pending : null;
}

/** The pending request that a return path leads to, or null when it leads somewhere else. */
export function pendingOf(req: Request, return_to: string | null): PendingAuthorization | null {
  const resumePath = resumePaths.find((path) => return_to?.startsWith(`${path}?`));
  if (return_to === null || resumePath === undefined) return null;
  if (req.opened_pending?.return_to === return_to) return req.opened_pending.pending;
  const handle = new URLSearchParams(return_to.slice(resumePath.length + 1)).get('request');
  const pending = handle === null ? null : openPending(req, handle);
  req.opened_pending = { return_to, pending };
  return pending;
}

function inQuery(address: string): string | null {
  const mark = address.indexOf('?');
  return mark < 0 ? null : new URLSearchParams(address.slice(mark)).get('return_to');
}

/** The return path as it was sent: the body's, else the query's. */
function sentReturnTo(req: Request): unknown {
  const body = req.body as { return_to?: unknown } | null | undefined;
  if (body?.return_to !== undefined) return body.return_to;
  return req.form?.get('return_to') ?? (req.queried_return_to ??= inQuery(req.originalUrl));
}

/** The pending authorization request that the request is a step of, or null. */
export const pendingHere = (req: Request): PendingAuthorization | null =>
  req.ctx === undefined ? null : pendingOf(req, req.return_to ?? safeReturnTo(sentReturnTo(req)));

/** The client that the person is on their way to, as the pending authorization request claims it, or null. */
export const onWayTo = (req: Request): string | null => pendingHere(req)?.parameters['client_id'] ?? null;

/**
 * Whether the request belongs to the sign-in or sign-out of a client's: an address of the protocol, or a step that returns to a pending authorization
 * request. Single-page applications have these in a popup that they hold on to. A refusal of a client that nobody knows belongs to no client's.
 */
export const isInSignIn = (req: Request): boolean =>
  (/^\/(oauth|saml)\//.test(req.path) && req.error_code !== 'invalid_client') || pendingHere(req) !== null;

/** The client of the pending request that a return path leads to, as the request claims it, or null. */
export const pendingClientId = (req: Request, return_to: string | null): string | null =>
  pendingOf(req, return_to)?.parameters['client_id'] ?? null;
