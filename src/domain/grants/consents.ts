import { addConsent, findConsent } from '../../db/tables/consents.js';
import { own } from '../../lib/named.js';
import { uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';
import { noOrigin, type Origin } from '../origin.js';
import { noteSecurityEvent, recordSecurityEvent } from '../audit/security-trail.js';
import { isOpenidScope } from '../claims/scopes.js';

/** What an application asks a person for: scopes, and the API resource that those beyond OpenID Connect's belong to. */
export type ConsentQuestion = {
  readonly user_id: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly resource: string | null;
  /** Whether any program could have sent the request: then the answer is for this time alone (RFC 8252 8.6). */
  readonly unproven?: boolean;
  /** What the client is now, where that can change without anybody's being told; null or left out: nobody but an administrator or its registration changes it. */
  readonly client_digest?: Buffer | null;
};

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

/** What of it the person hasn't allowed before: scopes, and the resource, which may be without scopes of its own. */
export async function withoutConsent(ctx: Context, question: ConsentQuestion): Promise<{ scopes: string[]; resource: boolean }> {
  const none = { resource_scopes: {} as Readonly<Record<string, string[]>>, resources: [] as readonly string[] };
  const stored = isAlwaysAsked(ctx, question) ? null : await findConsent(ctx.scope, question.user_id, question.client_id);
  const found = stored && isSameClient(stored.client_digest, question.client_digest ?? null) ? stored : null;
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

/**
 * Remembers that the person allowed it. Of what is always asked only the rest is kept: by it the person finds the application and can end it.
 * Call it in a transaction.
 * @returns whether the person had allowed the client nothing before
 */
export async function giveConsent(tx: Context, allowed: ConsentQuestion, origin: Origin = noOrigin): Promise<boolean> {
  const remembered = allowed.unproven ? [] : allowed.scopes.filter(isOpenidScope);
  const question = isAlwaysAsked(tx, allowed) ? { ...allowed, scopes: remembered, resource: null } : allowed;
  const { user_id, client_id } = question;
  const at = tx.clock.now();
  let first = false;
  for (const [resource, scopes] of heaps(question)) {
    const isNew = await addConsent(tx.scope, {
      id: uuidv7(at.getTime()),
      user_id,
      client_id,
      client_digest: allowed.client_digest ?? null,
      resource,
      scopes,
      at,
    });
    first ||= isNew;
  }
  const detail = {
    scopes: allowed.unproven ? allowed.scopes : question.scopes,
    resource: allowed.unproven ? allowed.resource : question.resource,
  };
  await recordSecurityEvent(tx, 'consent.given', { ...partiesOf(user_id, client_id), origin, detail });
  return first;
}

export function noteConsentDenied(ctx: Context, user_id: string, client_id: string, origin: Origin): void {
  noteSecurityEvent(ctx, 'consent.denied', { ...partiesOf(user_id, client_id), origin });
}
