import { findHintedPerson, insertApproval, type HintedPerson, type NewApproval } from '../../db/tables/approvals.js';
import type { Detail } from '../../lib/authorization-details.js';
import { detailSentence } from '../../lib/detail-sentence.js';
import { digest } from '../../lib/digest.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { isUuid, randomToken, uuidv7 } from '../../lib/random.js';
import { formatScope } from '../../lib/scope-set.js';
import type { ApiResource, Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import type { Environment } from '../environment.js';
import { pollInterval } from '../device-codes/device-codes.js';
import { pendingEvents } from '../events/emit.js';
import { mailModel } from '../grants/agent-mails.js';
import { mailLanguage } from '../mail/mail-language.js';
import { mailRow } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { approvalPath, notificationAad, type PingNotice } from './approvals.js';

/** A valid question of a client. */
export type ApprovalRequest = {
  /** An address or a user's id, as the client wrote it. */
  readonly hint: string;
  readonly scopes: readonly string[];
  readonly resource: Pick<ApiResource, 'identifier' | 'detail_types'> | null;
  readonly authorization_details: readonly Detail[] | null;
  readonly organization: string | null;
  readonly binding_message: string | null;
  readonly acr_values: readonly string[];
  readonly requested_expiry: number | null;
  /** Of a client that is pinged. */
  readonly client_notification_token: string | null;
  readonly request_id: string;
  readonly origin: Origin;
};

type NewRequest = { readonly auth_req_id: string; readonly expires_in: number };

const maxUserAgent = 512;

/** The person whom the hint names, and the hint in the form by which two of one person are alike. */
async function hintedPerson(ctx: Context, client: Client, hint: string) {
  const address = normalizeEmail(hint);
  const normal = address?.email_key ?? hint.toLowerCase();
  const by = address ? { email_key: address.email_key } : isUuid(normal) ? { user_id: normal } : { email_key: normal };
  return { ...(await findHintedPerson(ctx.scope, by, client.id, ctx.clock.now())), normal };
}

type Telling = {
  readonly id: string;
  readonly addressee: HintedPerson | null;
  /** Where the mail would go that goes to nobody. */
  readonly to: string;
  readonly has_template: boolean;
  readonly expires_in: number;
  readonly expires_at: Date;
};

/** What is asked beyond scopes, as the person's page says it. */
function detailsFor(
  { default_locale }: Environment,
  { locale }: HintedPerson,
  { resource, authorization_details }: ApprovalRequest,
): string[] {
  const languages = [locale, default_locale].map((one) => mailLanguage([one, default_locale]).builtIn);
  return (authorization_details ?? []).flatMap((detail) => {
    const type = resource?.detail_types.get(detail.type);
    return type ? detailSentence(type, detail, languages) : [];
  });
}

/** The mail and the event by which the person hears of it; to nobody the mail is written all the same. */
async function tell(
  ctx: Context,
  client: Client,
  request: ApprovalRequest,
  { id, addressee, to, has_template, expires_in, expires_at }: Telling,
): Promise<Pick<NewApproval, 'mail' | 'events'>> {
  const { binding_message, scopes, origin } = request;
  const approval_url = ctx.environment.issuer + approvalPath(id);
  const mail = await mailRow(ctx, {
    template: 'approval_requested',
    to: addressee?.email ?? to,
    locale: addressee?.locale ?? null,
    model: { ...mailModel(ctx, client), approval_url, expires_in, ...(binding_message !== null && { binding_message }) },
    origin,
    send_before: expires_at,
    discarded: addressee === null,
    has_template,
  });
  if (!addressee) return { mail, events: [] };
  const who = { id, user_id: addressee.id, client_id: client.id };
  const what = { binding_message, scopes: [...scopes], details: detailsFor(ctx.environment, addressee, request) };
  const data = { ...who, ...what, approval_url, expires_at: expires_at.toISOString() };
  return { mail, events: await pendingEvents(ctx, 'approval.requested', [data]) };
}

/**
 * Asks the person whom the hint names, by mail and by event (CIBA Core 1.0 7). A hint of nobody, for a client that may ask anybody, and one of somebody who
 * wants to hear nothing of the client take the same two statements and the same mail, which goes to nobody, and expire. What people answer is all that a client
 * learns.
 * @returns `unknown`, for a client that may ask only people it knows; or for how many seconds nobody may be addressee
 */
export async function askPerson(ctx: Context, client: Client, request: ApprovalRequest): Promise<NewRequest | 'unknown' | number> {
  const { person, has_template, normal } = await hintedPerson(ctx, client, request.hint);
  if (client.backchannel_users === 'known' && !person?.known) return 'unknown';
  const addressee = person !== null && !person.silenced ? person : null;
  const now = ctx.clock.now();
  const [id, auth_req_id] = [uuidv7(now.getTime()), randomToken('ar_')];
  const expires_in = Math.min(request.requested_expiry ?? Infinity, ctx.environment.approval_lifetime);
  const expires_at = new Date(now.getTime() + expires_in * 1000);
  const { binding_message, acr_values, resource, authorization_details, organization, request_id, origin, scopes } = request;
  const { client_notification_token: token } = request;
  const { crypto } = ctx;
  const hint_digest = crypto.sealer.digest('approval hint', normal);
  const telling = await tell(ctx, client, request, { id, addressee, to: normal.slice(0, 254), has_template, expires_in, expires_at });
  const notification: PingNotice | null = token === null ? null : { auth_req_id, client_notification_token: token };
  const wait = await insertApproval(ctx.scope, {
    id,
    digest: digest(auth_req_id),
    client_id: client.id,
    user_id: addressee?.id ?? null,
    subject_digest: person ? crypto.sealer.digest('approval hint', person.id) : hint_digest,
    hint_digest,
    scope: formatScope(scopes),
    resource: resource && resource.identifier,
    authorization_details,
    organization,
    binding_message,
    acr_values: [...acr_values],
    ip_address: origin.ip_address,
    user_agent: origin.user_agent?.slice(0, maxUserAgent) ?? null,
    request_id,
    interval_seconds: pollInterval,
    notification_endpoint: notification && client.backchannel_client_notification_endpoint,
    notification_sealed: notification && crypto.sealer.seal(JSON.stringify(notification), notificationAad(id)),
    created_at: now,
    expires_at,
    ...telling,
  });
  return wait ?? { auth_req_id, expires_in };
}
