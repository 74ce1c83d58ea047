import { notSigned, timeProblem, verifiedClaims } from '../workloads/assertion.js';
import type { KeyOwner } from '../workloads/issuer-keys.js';
import { findTransmitterStream, type TransmitterStreamRow } from '../../db/tables/transmitter_streams.js';
import { keepsStream, providerIssuerOf, samlEntityId, signalsIssuerOf, signalsUrl, type Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import { jsonObject, type JsonObject } from '../../lib/json-object.js';
import { isNumericDate } from '../../lib/numeric-date.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import { shortText, signalSubjectOf, type SignalSubject } from './signal-subject.js';

/** What a signal says happened; `other`: something that ends nothing here. */
export type SignalKind =
  'session-revoked' | 'account-disabled' | 'account-purged' | 'credential-compromise' | 'backchannel-logout' | 'global-token-revocation' | 'other'; // prettier-ignore

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const kinds: ReadonlyMap<string, SignalKind> = new Map([
  ['https://schemas.openid.net/secevent/caep/event-type/session-revoked', 'session-revoked'],
  ['https://schemas.openid.net/secevent/risc/event-type/account-disabled', 'account-disabled'],
  ['https://schemas.openid.net/secevent/risc/event-type/account-purged', 'account-purged'],
  ['https://schemas.openid.net/secevent/risc/event-type/credential-compromise', 'credential-compromise'],
]);

/** The URIs of the events that end something here. */
export const endingEvents: readonly string[] = [...kinds.keys()];
const verificationEvent = 'https://schemas.openid.net/secevent/ssf/event-type/verification';

/** A signal of the connection's provider, not yet known to be new. */
export type ReadSignal = {
  /** Of its `jti`, by the form that it came in. */
  readonly id: string;
  /** Until when it has to be remembered. */
  readonly expires_at: Date;
  readonly events: readonly { readonly kind: SignalKind; readonly at: Date }[];
  /** Null: nobody whom this service could know. */
  readonly subject: SignalSubject | null;
  /** What a verification of the stream was asked for with, where it is that. */
  readonly verified_state?: string | null;
};

/** Why it isn't taken: `err` as RFC 8935 2.4 has it, `description` is public and names claims, never what they hold. */
export type RefusedSignal = {
  readonly err: 'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience' | 'invalid_state' | 'authentication_failed';
  readonly description: string;
  readonly because: SecurityEventReason;
};

const day = 86_400;
/** Transmitters try for days; what is older isn't taken, so that what was received needn't be known for good. */
const keptSeconds = 7 * day;
const skewSeconds = 60;
const maxEvents = 10;

const refused = (
  err: RefusedSignal['err'],
  description: string,
  because: SecurityEventReason = 'signal_invalid',
): RefusedSignal => ({ err, description, because }); // prettier-ignore

type Expected = { readonly owner: KeyOwner; readonly types: readonly (string | undefined)[] };

/** The claims that the provider signed, with an `iss` and a `jti`. */
async function signedClaims(ctx: Context, token: string, { owner, types }: Expected): Promise<JsonObject | RefusedSignal> {
  if (token.length > 16_384) return refused('invalid_request', 'the token is too long');
  const read = await verifiedClaims(ctx, owner, token, types).catch(notSigned);
  if ('reason' in read) return refused('invalid_key', read.reason.replace('the assertion', 'the token'));
  const { iss, jti } = read.claims;
  if (iss !== owner.issuer) return refused('invalid_issuer', 'iss of the token is another issuer', 'signal_not_for_us');
  if (shortText(jti) === null) return refused('invalid_request', 'jti of the token is missing, or too long');
  return read.claims;
}

const isRefused = (read: JsonObject | RefusedSignal): read is RefusedSignal => 'because' in read;
const timeOf = (seconds: number) => new Date(seconds * 1000);

/** When it happened: seconds are whole ones, so all of that second counts; never in the future. */
function momentOf(ctx: Context, seconds: unknown, otherwise: unknown): Date {
  const at = isNumericDate(seconds) ? seconds : (otherwise as number);
  return new Date(Math.min(at * 1000 + (Number.isInteger(at) ? 999 : 0), ctx.clock.now().getTime()));
}

/** Whose keys sign security event tokens: of a transmitter of its own what that says of itself (SSF 1.0 7.1), else the provider's. */
const transmitterOf = (connection: Connection, issuer: string): KeyOwner =>
  connection.signals_issuer === null && !keepsStream(connection)
    ? { id: connection.id, issuer, jwks_uri: connection.jwks_uri, jwks: null }
    : { id: `${connection.id} transmitter`, issuer, jwks_uri: null, jwks: null, metadata: 'ssf-configuration' };

/** Whether a verification is of the stream and of what it was asked for with (SSF 1.0 8.1.4.1); one that nobody asked for has no state. */
function verificationProblem(
  { stream_id, state }: TransmitterStreamRow,
  sub_id: JsonObject | null,
  event: JsonObject,
): RefusedSignal | null {
  if (sub_id?.['format'] !== 'opaque' || sub_id['id'] !== stream_id)
    return refused('invalid_request', 'sub_id of the verification is another stream', 'signal_not_for_us');
  return event['state'] === undefined || event['state'] === state
    ? null
    : refused('invalid_state', 'state of the verification is another one', 'signal_not_for_us');
}

/** Reads a security event token (RFC 8417, SSF 1.0). */
export async function readSecurityEventToken(ctx: Context, connection: Connection, token: string): Promise<ReadSignal | RefusedSignal> {
  const issuer = signalsIssuerOf(connection);
  if (issuer === null) return refused('invalid_issuer', 'the issuer of the connection is unknown', 'signal_not_for_us');
  const types = ['secevent+jwt', 'application/secevent+jwt'];
  const claims = await signedClaims(ctx, token, { owner: transmitterOf(connection, issuer), types });
  if (isRefused(claims)) return claims;
  const { aud, iat, exp, jti, sub_id } = claims;
  const now = ctx.clock.now().getTime() / 1000;
  const stream = keepsStream(connection) ? await findTransmitterStream(ctx.scope, connection.id) : null;
  const { signals_audience } = connection;
  const audience: unknown[] =
    signals_audience !== null ? [signals_audience] : (stream?.audience ?? [signalsUrl(ctx.environment, connection)]);
  if (![aud].flat().some((one) => audience.includes(one)))
    return refused('invalid_audience', 'aud of the token is another receiver', 'signal_not_for_us');
  if (!isNumericDate(iat) || iat > now + skewSeconds || iat < now - keptSeconds)
    return refused('invalid_request', 'iat of the token is missing, in the future, or more than seven days ago', 'signal_expired');
  if (exp !== undefined && !(isNumericDate(exp) && exp > now - skewSeconds))
    return refused('invalid_request', 'exp: the token has expired', 'signal_expired');
  const [members, id] = [Object.entries(jsonObject(claims['events']) ?? {}), jsonObject(sub_id)];
  if (members.length === 0 || members.length > maxEvents || members.some(([, event]) => jsonObject(event) === null))
    return refused('invalid_request', 'events of the token must hold events');
  const verification = stream && jsonObject(jsonObject(claims['events'])?.[verificationEvent]);
  const wrong = verification && verificationProblem(stream, id, verification);
  if (wrong) return wrong;
  const events = members.map(([name, event]) => {
    const { event_timestamp, 'event-timestamp': ofRisc } = event as JsonObject;
    return { kind: kinds.get(name) ?? 'other', at: momentOf(ctx, event_timestamp ?? ofRisc, iat) };
  });
  if (!id && events.some(({ kind }) => kind !== 'other')) return refused('invalid_request', 'sub_id is required in the token');
  const subject = id && (await signalSubjectOf(ctx, connection, id));
  const expires_at = timeOf(iat + keptSeconds + 2 * skewSeconds);
  const verified_state = verification?.['state'] === undefined ? null : (stream?.state ?? null);
  return { id: `set ${String(jti)}`, expires_at, events, subject, verified_state };
}

/** Reads a logout token (OpenID Connect Back-Channel Logout 1.0 2.6). */
export async function readLogoutToken(ctx: Context, connection: Connection, token: string): Promise<ReadSignal | RefusedSignal> {
  const issuer = connection.strategy === 'saml' ? null : providerIssuerOf(connection);
  if (issuer === null) return refused('invalid_issuer', 'the connection is none of OpenID Connect', 'signal_not_for_us');
  const owner = { id: connection.id, issuer, jwks_uri: connection.jwks_uri, jwks: null };
  const claims = await signedClaims(ctx, token, { owner, types: ['logout+jwt', 'application/logout+jwt', 'jwt', undefined] });
  if (isRefused(claims)) return claims;
  const { aud, iat, exp, jti, sub, sid, nonce, events } = claims;
  if (![aud].flat().includes(connection.provider_client_id))
    return refused('invalid_audience', 'aud of the token is another client', 'signal_not_for_us');
  const late = timeProblem(ctx, claims);
  if (late !== null || !isNumericDate(iat))
    return refused('invalid_request', late?.replace('the assertion', 'the token') ?? 'iat is required in the token', 'signal_expired');
  if (jsonObject(jsonObject(events)?.[logoutEvent]) === null) return refused('invalid_request', 'events of the token has no logout');
  if (nonce !== undefined) return refused('invalid_request', 'a logout token has no nonce');
  const wrong = [sub, sid].some((value) => value !== undefined && shortText(value) === null);
  if (wrong || (sub === undefined && sid === undefined)) return refused('invalid_request', 'the token must name sub or sid');
  const at = momentOf(ctx, iat, iat);
  const subject = { subject: shortText(sub), sid: shortText(sid) };
  return {
    id: `logout ${String(jti)}`,
    expires_at: timeOf((exp as number) + 2 * skewSeconds),
    events: [{ kind: 'backchannel-logout', at }],
    subject,
  };
}

const maxRevocationLifetime = 300;

/** Reads what a Global Token Revocation is authorized with, and whom it names (Okta Universal Logout). */
export async function readGlobalRevocation(
  ctx: Context,
  connection: Connection,
  { token, sub_id }: { readonly token: string; readonly sub_id: unknown },
): Promise<ReadSignal | RefusedSignal> {
  const unauthorized = (description: string, because: SecurityEventReason = 'signal_not_for_us') =>
    refused('authentication_failed', description, because);
  const issuer = signalsIssuerOf(connection);
  if (issuer === null) return unauthorized('the issuer of the connection is unknown');
  const { id, signals_issuer, jwks_uri, strategy, provider_client_id } = connection;
  const owner = { id, issuer, jwks_uri: signals_issuer === null ? jwks_uri : null, jwks: null };
  const claims = await signedClaims(ctx, token, { owner, types: ['global-token-revocation+jwt'] });
  if (isRefused(claims)) return { ...claims, err: 'authentication_failed' };
  const { aud, iat, exp, jti, sub } = claims;
  const [to] = [aud].flat();
  if ([aud].flat().length !== 1 || to !== signalsUrl(ctx.environment, connection))
    return unauthorized('aud of the token is another address');
  const ours = strategy === 'saml' ? samlEntityId(ctx.environment, connection) : provider_client_id;
  if (sub !== ours) return unauthorized('sub of the token is another client');
  const late = timeProblem(ctx, claims);
  if (late !== null) return unauthorized(late.replace('the assertion', 'the token'), 'signal_expired');
  if (!isNumericDate(iat) || (exp as number) - iat > maxRevocationLifetime)
    return unauthorized('exp: the token must expire within five minutes of its iat', 'signal_expired');
  const named = jsonObject(sub_id);
  if (!named) return refused('invalid_request', 'the body must hold a sub_id');
  const events = [{ kind: 'global-token-revocation' as const, at: momentOf(ctx, iat, iat) }];
  const subject = await signalSubjectOf(ctx, connection, named);
  return { id: `revocation ${String(jti)}`, expires_at: timeOf((exp as number) + 2 * skewSeconds), events, subject };
}
