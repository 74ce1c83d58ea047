import { transaction, type Context } from '../domain/context.js';
import type { Connection } from '../domain/connections/connections.js';
import { giveDefaultRoles } from '../domain/roles/default-roles.js';
import { userData } from '../domain/events/data.js';
import { emit } from '../domain/events/emit.js';
import { linkIdentity } from '../domain/connections/identities.js';
import { Duplicate } from '../db/connection/failures.js';
import { updateIdentity } from '../db/tables/identities.js';
import { listRoleNamesOfUser } from '../db/tables/roles.js';
import { insertUser, updateUser, type UserChanges, type UserRow } from '../db/tables/users.js';
import { own } from '../lib/named.js';
import { uuidv7 } from '../lib/random.js';
import type { Request, Response } from 'express';
import { providerProof } from '../domain/sessions/proofs.js';
import { pendingOf } from '../http/request/return-to.js';
import { takeFirstStep } from '../http/auth/first-step.js';
import type { Web } from '../http/web.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { requireFreshness } from './freshness.js';
import { askForProof } from './link-account.js';
import { trustFor } from './provider-trust.js';
import { decide, type Decision } from './linking.js';
import { accountOf, type Profile, type ProfileAttributes } from './profile.js';

/** The application on whose behalf the person signs in. */
const clientOfFlow = (req: Request, return_to: string | null) => pendingOf(req, return_to)?.parameters['client_id'] ?? null;

/** What of the profile differs from the user. Another phone number is one that nobody has proven. */
function changesOf(user: UserRow, attributes: ProfileAttributes): UserChanges {
  const changes: UserChanges = Object.fromEntries(Object.entries(attributes).filter(([name, value]) => own(user, name) !== value));
  return changes.phone_number !== undefined && user.phone_number_verified ? { ...changes, phone_number_verified: false } : changes;
}

/** `profile_sync` `on_login`: the provider's word for names and the like, never for the address that signs in. Emits `user.updated`. */
async function syncProfile(tx: Context, connection: Connection, user: UserRow, attributes: ProfileAttributes): Promise<void> {
  if (connection.profile_sync !== 'on_login') return;
  const changes = changesOf(user, attributes);
  if (Object.keys(changes).length === 0) return;
  const updated = await updateUser(tx.scope, user.id, { ...changes, updated_at: tx.clock.now() });
  if (!updated) return;
  const previous_attributes = Object.fromEntries(Object.keys(changes).map((name) => [name, own(user, name)]));
  await emit(tx, 'user.updated', { ...userData(updated, await listRoleNamesOfUser(tx.scope, user.id)), previous_attributes });
}

type Registration = {
  readonly connection: Connection;
  readonly profile: Profile;
  readonly proven: boolean;
  readonly client_id: string | null;
};

/**
 * Just-in-time registration (specification 8.3.4): the user, the default roles, the identity and the event, or nothing of it. Where the provider's word
 * doesn't prove the address, it makes neither a verified address nor an administrator.
 */
async function register(tx: Context, { connection, profile, proven, client_id }: Registration): Promise<UserRow> {
  if (!profile.email) throw new Error('a user needs an address');
  const now = tx.clock.now();
  const user = await insertUser(tx.scope, {
    ...(connection.profile_sync === 'never' ? {} : profile.attributes),
    id: uuidv7(now.getTime()),
    ...profile.email,
    email_verified: proven,
    created_at: now,
    updated_at: now,
  });
  const roles = await giveDefaultRoles(tx, user.id, proven);
  await linkIdentity(tx, user.id, accountOf(connection, profile));
  await emit(tx, 'user.registered', { ...userData(user, roles), registration_method: 'sso', connection_id: connection.id, client_id });
  return user;
}

/** What a login writes before it is whole: one transaction, and the user who goes on. */
async function settle(
  ctx: Context,
  connection: Connection,
  profile: Profile,
  decision: Extract<Decision, { kind: 'known' | 'link' | 'register' }>,
  client_id: string | null,
): Promise<UserRow> {
  return transaction(ctx, async (tx) => {
    if (decision.kind === 'register') return register(tx, { connection, profile, proven: decision.proven, client_id });
    const now = tx.clock.now();
    const { user } = decision;
    const account = accountOf(connection, profile);
    if (decision.kind === 'known')
      await updateIdentity(tx.scope, decision.identity.id, {
        email: account.email,
        claims: account.claims,
        last_login_at: now,
        updated_at: now,
      });
    await syncProfile(tx, connection, user, profile.attributes);
    return user;
  });
}

/**
 * Signs the person in: a known account, a new one, or an existing one as the connection's mode allows (specification 8.3). It is a first step: what two-step
 * and policy ask for comes after it, and an account is linked when the sign-in is whole.
 */
export async function finishLogin(web: Web, req: Request, res: Response, answer: ProviderAssertion): Promise<void> {
  const { flow, connection, profile, authentication } = answer;
  requireFreshness(req, connection, flow.demand, authentication.auth_time);
  for (let attempt = 1; ; attempt++) {
    const decision = await decide(req.ctx, connection, profile);
    if (decision.kind === 'refuse') throw decision.refusal;
    if (decision.kind === 'ask' || decision.kind === 'prove_again')
      return askForProof(web, req, res, { ...answer, user: decision.user, again: decision.kind === 'prove_again' });
    try {
      const user = await settle(req.ctx, connection, profile, decision, clientOfFlow(req, flow.return_to));
      // `amr` of the session stays empty: how the person authenticated is the provider's statement, kept apart.
      const trust = await trustFor(req.ctx, connection, user, authentication);
      const proofs = [providerProof(req.ctx.clock.now(), authentication.auth_time, trust)];
      const account = accountOf(connection, profile);
      const linking = decision.kind === 'link' ? { account, provider: connection.display_name, by_word: true } : null;
      const step = { user, proofs, method: 'sso', provider: authentication, linking, return_to: flow.return_to } as const;
      return res.redirect(303, (await takeFirstStep(req, res, step)).redirect_to);
    } catch (error) {
      // Two concurrent first logins of one person: the second repeats the decision and finds the new account.
      if (!(error instanceof Duplicate) || attempt > 2) throw error;
    }
  }
}
