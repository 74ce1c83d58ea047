import { addConsent, findConsent, setConsentedDetails, type ConsentRow } from '../../db/tables/consents.js';
import { isSameDetail, type Detail } from '../../lib/authorization-details.js';
import { own } from '../../lib/named.js';
import { uuidv7 } from '../../lib/random.js';
import type { ApiResource } from '../clients/clients.js';
import { afterCommit, transaction, type Context } from '../context.js';
import { noOrigin, type Origin } from '../origin.js';
import { logSecurityEvent, noteSecurityEvent, securityEventRow } from '../audit/security-trail.js';
import { isOpenidScope } from '../claims/scopes.js';

/** What an application asks a person for: scopes, and the API resource that those beyond OpenID Connect's belong to. */
export type ConsentQuestion = {
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly resource: string | null;
  /** Whether any program could have sent the request (RFC 8252 8.6), or an organization's guest answers: then the answer is for this time alone. */
  readonly unproven?: boolean;
  /** What the client is now, where that can change without anybody's being told; null or left out: nobody but an administrator or its registration changes it. */
  readonly client_digest?: Buffer | null;
  /** What is asked for beyond scopes (RFC 9396), one by one. */
  readonly details?: readonly AskedDetail[];
};

/** A detail with its type's id, and whether that is to be remembered once it was allowed. */
export type AskedDetail = { readonly type_id: string; readonly remember: boolean; readonly detail: Detail };

/** Details with what consents keep of their types; those that there are no more are left out. */
export const withTypes = (resource: Pick<ApiResource, 'detail_types'> | null, details: readonly Detail[] | null = null): AskedDetail[] =>
  (details ?? []).flatMap((detail) => {
    const type = resource?.detail_types.get(detail.type);
    return type ? [{ type_id: type.id, remember: type.remember, detail }] : [];
  });

/** Of a client so many details are remembered: those that were allowed last. */
const mostDetails = 50;

/** The scopes by resource: those of OpenID Connect under the empty name, the others under the resource's identifier. */
function heaps({ scopes, resource }: ConsentQuestion): [string, string[]][] {
  const own = resource === null ? [] : scopes.filter((scope) => !isOpenidScope(scope));
  const general = scopes.filter((scope) => !own.includes(scope));
  return resource === null ? [['', general]] : [['', general], [resource, own]]; // prettier-ignore
}

/**
 * Whether the person is asked every time, and the answer isn't remembered: permissions of the Management API reach everybody of the environment, and are
 * asked for by their own applications too; and the name of an unverified application on the person's device can be claimed by any program there.
 */
export const isAlwaysAsked = (ctx: Context, { resource, unproven = false }: Pick<ConsentQuestion, 'resource' | 'unproven'>): boolean =>
  unproven || resource === ctx.environment.management_audience;

/** Whether the client still is what the person allowed. */
const isSameClient = (then: Buffer | null, now: Buffer | null): boolean =>
  then === now || (then !== null && now !== null && then.equals(now));

/** What the person allowed the client before; null where that was another one. */
async function findSameConsent(ctx: Context, question: ConsentQuestion): Promise<ConsentRow | null> {
  const stored = isAlwaysAsked(ctx, question) ? null : await findConsent(ctx.scope, question.user_id, question.client_id);
  return stored && isSameClient(stored.client_digest, question.client_digest ?? null) ? stored : null;
}

const isAllowed = ({ authorization_details }: ConsentRow, { type_id, detail }: AskedDetail): boolean =>
  authorization_details.some((one) => one.type_id === type_id && isSameDetail(one.detail, detail));

/** Whether some of the details are asked about: every time, unless their type is remembered and the person allowed the same before. */
export async function hasDetailsToAsk(ctx: Context, question: ConsentQuestion): Promise<boolean> {
  const { details = [] } = question;
  if (!details.every(({ remember }) => remember)) return true;
  if (details.length === 0) return false;
  const stored = await findSameConsent(ctx, question);
  return stored === null || !details.every((one) => isAllowed(stored, one));
}

/** What of it the person hasn't allowed before: scopes, and the resource, which may be without scopes of its own. */
export async function withoutConsent(ctx: Context, question: ConsentQuestion): Promise<{ scopes: string[]; resource: boolean }> {
  const none = { resource_scopes: {} as Readonly<Record<string, string[]>>, resources: [] as readonly string[] };
  const found = await findSameConsent(ctx, question);
  const { resource_scopes, resources } = found ?? none;
  const scopes = heaps(question).flatMap(([resource, names]) => names.filter((scope) => !own(resource_scopes, resource)?.includes(scope)));
  return { scopes, resource: found === null || (question.resource !== null && !resources.includes(question.resource)) };
}

/** Whether the person allowed all of it before. A resource that was never allowed isn't, even without scopes of its own. */
export async function isConsented(ctx: Context, question: ConsentQuestion): Promise<boolean> {
  if (isAlwaysAsked(ctx, question)) return false;
  const { scopes, resource } = await withoutConsent(ctx, question);
  return scopes.length === 0 && !resource;
}

const partiesOf = (user_id: string, client_id: string) => ({
  actor: { actor_kind: 'user', actor_id: user_id, display: null } as const,
  target: { target_type: 'client', target_id: client_id },
});

/** What of the details is remembered. */
const rememberedDetails = (ctx: Context, question: ConsentQuestion): ConsentRow['authorization_details'] =>
  isAlwaysAsked(ctx, question)
    ? []
    : (question.details ?? []).filter(({ remember }) => remember).map(({ type_id, detail }) => ({ type_id, detail }));

/** Remembers details beside those of before; the consent's row is there, and held. */
async function rememberDetails(tx: Context, question: ConsentQuestion, fresh: ConsentRow['authorization_details']): Promise<void> {
  const stored = await findConsent(tx.scope, question.user_id, question.client_id);
  const others = (stored?.authorization_details ?? []).filter(
    (one) => !fresh.some(({ type_id, detail }) => type_id === one.type_id && isSameDetail(detail, one.detail)),
  );
  await setConsentedDetails(tx.scope, question, [...others, ...fresh].slice(-mostDetails));
}

/**
 * Remembers that the person allowed it. Of what is always asked only the rest is kept: by it the person finds the application and can end it. One statement,
 * with its entry of the audit log, unless there is a resource, or details to remember.
 * @returns whether the person had allowed the client nothing before
 */
export async function giveConsent(ctx: Context, allowed: ConsentQuestion, origin: Origin = noOrigin): Promise<boolean> {
  const remembered = allowed.unproven ? [] : allowed.scopes.filter(isOpenidScope);
  const question = isAlwaysAsked(ctx, allowed) ? { ...allowed, scopes: remembered, resource: null } : allowed;
  const { user_id, client_id } = question;
  const { details = [], client_digest = null } = allowed;
  const detail = {
    ...(details.length > 0 && { authorization_details: details.map((one) => one.detail) }),
    scopes: allowed.unproven ? allowed.scopes : question.scopes,
    resource: allowed.unproven ? allowed.resource : question.resource,
  };
  const trace = { ...partiesOf(user_id, client_id), origin, detail };
  const heapsOfScopes = heaps(question);
  const fresh = rememberedDetails(ctx, question);
  const give = async (tx: Context): Promise<boolean> => {
    const at = tx.clock.now();
    let first = false;
    for (const [index, [resource, scopes]] of heapsOfScopes.entries()) {
      const consent = { id: uuidv7(at.getTime()), user_id, client_id, client_digest, resource, scopes, at };
      const isNew = await addConsent(tx.scope, consent, index === 0 ? securityEventRow(tx, 'consent.given', trace) : null);
      first ||= isNew;
    }
    if (fresh.length > 0) await rememberDetails(tx, question, fresh);
    afterCommit(tx, () => logSecurityEvent(tx, 'consent.given', trace));
    return first;
  };
  return heapsOfScopes.length === 1 && fresh.length === 0 ? give(ctx) : transaction(ctx, give);
}

export function noteConsentDenied(ctx: Context, user_id: string, client_id: string, origin: Origin): void {
  noteSecurityEvent(ctx, 'consent.denied', { ...partiesOf(user_id, client_id), origin });
}
