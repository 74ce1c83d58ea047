import { findAuthorization } from '../../db/tables/authorizations.js';
import { findConsent } from '../../db/tables/consents.js';
import { findUserClaims } from '../../db/tables/user_claims.js';
import type { SignalSetRow } from '../../db/tables/signal_sets.js';
import type { SignalStreamRow } from '../../db/tables/signal_streams.js';
import { claimsOf } from '../claims/claims.js';
import { mappedClaims } from '../claims/claim-mappings.js';
import { clientOf, type Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { signerFor } from '../signing-keys/signing-keys.js';
import { signJwt } from '../tokens/formats/jwt.js';
import { eventOf, type SignalEvent } from './event-types.js';

type SetContent = { readonly sub_id: Record<string, unknown>; readonly event: Record<string, unknown> };

const levels = ['1', '2', 'phr'];

/** What the client is allowed to know of the person without asking: the scopes of the consent; a first-party client's are not asked for. */
async function knownScopes(ctx: Context, client: Client, user_id: string): Promise<readonly string[]> {
  if (client.first_party) return client.scopes ?? ['profile', 'email', 'address', 'phone', 'roles'];
  return (await findConsent(ctx.scope, user_id, client.id))?.scopes ?? [];
}

/** The claims of the person that this client is content, where any of them may have changed (CAEP 1.0 3.2). */
async function changedClaims(ctx: Context, client: Client, user_id: string): Promise<Record<string, unknown>> {
  const user = await findUserClaims(ctx.scope, user_id, null);
  if (!user) return {};
  const scopes = await knownScopes(ctx, client, user_id);
  const { updated_at: _, ...claims } = claimsOf(user, scopes, []);
  return { ...claims, ...mappedClaims(client.claim_mappings, 'id_token', { user, permissions: null }) };
}

/** The members of the event beside its time and reason; null where the client may not know. */
async function membersOf(ctx: Context, client: Client, row: SignalSetRow, user_id: string): Promise<Record<string, unknown> | null> {
  const { data } = row;
  switch (row.event as SignalEvent) {
    case 'credential-change':
    case 'credential-compromise':
      return data;
    case 'assurance-level-change': {
      const [now, before] = [String(data['current_level']), String(data['previous_level'])];
      const change_direction = levels.indexOf(now) > levels.indexOf(before) ? 'increase' : 'decrease';
      return { namespace: ctx.environment.issuer, current_level: now, previous_level: before, change_direction };
    }
    case 'token-claims-change': {
      const claims = await changedClaims(ctx, client, user_id);
      return Object.keys(claims).length === 0 ? null : { claims };
    }
    case 'identifier-changed':
      return (await knownScopes(ctx, client, user_id)).includes('email') ? { 'new-value': data['new_email'] } : null;
    default:
      return {};
  }
}

/** Whether it is kept from a client that the person has blocked, whatever its audience: it hears that sessions end, so that it ends its own, and nothing else. */
const isKept = async (ctx: Context, { id: client_id }: Client, { event }: SignalSetRow, user_id: string): Promise<boolean> =>
  event !== 'session-revoked' && (await findAuthorization(ctx.scope, { user_id, client_id }))?.blocked_at != null;

/** Whom it is about (RFC 9493): the person as the client's tokens name them, and the session by its `sid`. */
function subjectOf(stream: SignalStreamRow, row: SignalSetRow, sub: string): Record<string, unknown> {
  // RISC 1.0 2.5: by the address that it was.
  if (row.event === 'identifier-changed') return { format: 'email', email: row.data['email'] };
  const user = { format: 'iss_sub', iss: stream.issuer, sub };
  return row.session_id === null ? user : { format: 'complex', user, session: { format: 'opaque', id: row.session_id } };
}

async function contentOf(ctx: Context, stream: SignalStreamRow, row: SignalSetRow): Promise<SetContent | null> {
  if (row.user_id === null) return { sub_id: { format: 'opaque', id: stream.id }, event: row.data };
  const client = await clientOf(ctx, stream.client_id);
  const members = client && !(await isKept(ctx, client, row, row.user_id)) ? await membersOf(ctx, client, row, row.user_id) : null;
  if (!members) return null;
  const event = {
    event_timestamp: Math.floor(row.occurred_at.getTime() / 1000),
    reason_admin: { en: eventOf(row.event).reason },
    ...members,
  };
  return { sub_id: subjectOf(stream, row, row.user_id), event };
}

/** The security event token of the row (RFC 8417, SSF 1.0 4): never with `sub` or `exp`, so that it is no token of another kind. Null where the client may not know. */
export async function signSet(ctx: Context, stream: SignalStreamRow, row: SignalSetRow): Promise<string | null> {
  const content = await contentOf(ctx, stream, row);
  if (!content) return null;
  return signJwt(ctx, await signerFor(ctx, 'RS256'), 'secevent+jwt', {
    iss: stream.issuer,
    aud: stream.client_id,
    iat: Math.floor(ctx.clock.now().getTime() / 1000),
    jti: row.id,
    txn: row.txn,
    sub_id: content.sub_id,
    events: { [eventOf(row.event).uri]: content.event },
  });
}
