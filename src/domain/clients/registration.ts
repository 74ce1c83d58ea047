import { hasFederatedCredential } from '../../db/tables/federated_credentials.js';
import { claimTargets, insertClient, updateClient, type ClientRow } from '../../db/tables/clients.js';
import { digest } from '../../lib/digest.js';
import { cibaGrantType, deviceCodeGrantType } from '../../lib/grant-types.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import { blankClient } from './blank-client.js';
import { claimMappingProblems } from '../claims/claim-mappings.js';
import { previousAttributes } from '../changes.js';
import { decidedCeiling } from './ceiling.js';
import { requireDefaultResource } from './default-resource.js';
import { fapi2Algorithm, withFapi2 } from './fapi2.js';
import { chosenIdProblems, refusePersonsId } from './names.js';
import { isFapi2 } from './profile.js';
import { clientProblems, isSelfRegistered, withDefaults, type ClientInput, type OwnedClientInput, type RuledClient } from './rules.js';
import type { Context } from '../context.js';
import { emitClientRegistered, emitClientUpdated } from '../events/clients.js';
import { addSigningAlgorithm, requireSigningAlgorithms } from '../signing-keys/algorithms.js';
import { generateSigningKey, type NewSigningKey } from '../signing-keys/signing-keys.js';
import { holdsEverything } from '../reach/reach.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, refuseIfAny, unfit } from '../refusal.js';

const previousSecretLifetimeMs = 86_400_000;

const duplicates = {
  clients_pkey: { attribute: 'client_id', detail: 'There is a client with this client_id already.' },
  clients_saml_entity_id: { attribute: 'saml_entity_id', detail: 'There is an application with this entity ID already.' },
};

/** Public clients have no secret, and neither have those that prove themselves by a key. */
export const isSecretless = (client: Pick<ClientRow, 'token_endpoint_auth_method'>) =>
  !client.token_endpoint_auth_method.startsWith('client_secret_');

/** The columns of a client's secret: its digest and how it ends, never the secret. */
export const secretColumns = (secret: string, now: Date) => ({
  secret_digest: digest(secret),
  secret_hint: secret.slice(-4),
  secret_rotated_at: now,
});

/** The same of a client that has none, or no more. */
export const noSecret = {
  secret_digest: null,
  secret_hint: null,
  secret_rotated_at: null,
  previous_secret_digest: null,
  previous_secret_expires_at: null,
} as const;

/** The input with what follows from it: what its profile fills in, and for a new client the defaults. */
const completed = (input: ClientInput, client: ClientRow | null): ClientInput =>
  client ? withFapi2(input, client) : withDefaults(withFapi2(input, null));

const selfRegistered: Problem = invalidValue('introspection_allowed', 'A client that registered itself asks about its own tokens only.');

/** Problems of a new client, or of a change of `client`, as far as the given input tells. */
export function clientInputProblems(ctx: Pick<Context, 'config'>, input: ClientInput, client: ClientRow | null): Problem[] {
  const given = completed(input, client);
  const next = client ? { ...client, ...given } : ({ ...blankClient, ...given } as RuledClient);
  const problems = [
    ...clientProblems(next, { allowPrivateNetwork: ctx.config.allowPrivateNetwork }),
    ...claimMappingProblems(input.claim_mappings ?? [], claimTargets),
  ];
  // The holder of its registration access token could replace all of its metadata.
  return input.introspection_allowed && client && isSelfRegistered(client) ? [...problems, selfRegistered] : problems;
}

/** What the client has signed for it in a way of its own. */
export const chosenAlgorithms = (client: ClientInput) => ({
  id_token_signed_response_alg: client.id_token_signed_response_alg,
  userinfo_signed_response_alg: client.userinfo_signed_response_alg,
  authorization_signed_response_alg: client.authorization_signed_response_alg,
  introspection_signed_response_alg: client.introspection_signed_response_alg,
});

/**
 * A key for the algorithm that a profile fills in, where the environment doesn't sign with it yet; null where none is needed. Made outside of any
 * transaction.
 */
export async function generateProfileKey(
  ctx: Pick<Context, 'environment' | 'crypto'>,
  input: ClientInput,
  client: ClientRow | null,
): Promise<NewSigningKey | null> {
  const { profile, id_token_signed_response_alg } = { ...client, ...completed(input, client) };
  const missing = !ctx.environment.signing_algorithms.includes(fapi2Algorithm);
  const isNeeded = isFapi2({ profile: profile ?? null }) && id_token_signed_response_alg === fapi2Algorithm;
  return isNeeded && missing ? generateSigningKey(ctx, fapi2Algorithm) : null;
}

/** The default of `first_party`: true for clients that people sign in to, if the actor may set it. */
const isFirstParty = (actor: Actor, { first_party, application_type, grant_types = [] }: ClientInput) => {
  const forPeople =
    application_type === 'saml' ||
    grant_types.some((one) => ['authorization_code' as string, deviceCodeGrantType, cibaGrantType].includes(one));
  return first_party ?? (forPeople && holdsEverything(actor));
};

/** What is made for a client unless it is given: its id, and its secret. */
export type ChosenCredentials = { readonly client_id?: string; readonly client_secret?: string | undefined };

/**
 * Registers a client and, when it is confidential, makes its secret, which is known to nobody afterwards. Emits `client.registered`.
 * @param key of {@link generateProfileKey}
 * @throws {Refusal} 422
 */
export async function registerClient(
  tx: Context,
  actor: Actor,
  input: OwnedClientInput,
  chosen: ChosenCredentials = {},
  key: NewSigningKey | null = null,
): Promise<{ client: ClientRow; client_secret: string | null }> {
  const given = completed(input, null);
  const complete = { ...given, first_party: isFirstParty(actor, given) };
  refuseIfAny(clientInputProblems(tx, complete, null));
  if (key) await addSigningAlgorithm(tx, key);
  await requireSigningAlgorithms(tx, chosenAlgorithms(complete));
  await refusePersonsId(tx, chosen.client_id);
  if (chosen.client_id !== undefined) refuseIfAny(await chosenIdProblems(tx, chosen.client_id));
  await requireDefaultResource(tx, complete.default_resource);
  const now = tx.clock.now();
  const client_secret = isSecretless(complete as ClientRow) ? null : (chosen.client_secret ?? randomToken('cs_'));
  const secret = client_secret === null ? {} : secretColumns(client_secret, now);
  const id = chosen.client_id ?? uuidv7(now.getTime());
  const client = await refuseDuplicates(duplicates, () =>
    insertClient(tx.scope, { ...complete, ...secret, id, created_at: now, updated_at: now }),
  );
  await emitClientRegistered(tx, client);
  return { client, client_secret };
}

/** Tells what has changed of a client. Emits `client.updated`, unless nothing has that is shown. Call it in a transaction. */
export async function emitUpdated(tx: Context, before: ClientRow, after: ClientRow): Promise<void> {
  const shown = ({
    secret_digest: _1,
    previous_secret_digest: _2,
    registration_token_digest: _3,
    version: _4,
    last_used_at: _5,
    registration_ceiling: _6,
    document_digest: _7,
    document_read_at: _8,
    document_fresh_until: _9,
    verified_by_host: _10,
    ...rest
  }: ClientRow) => ({ ...rest });
  const previous_attributes = previousAttributes(shown(before), shown(after));
  for (const [name, value] of Object.entries(previous_attributes))
    if (value instanceof Date) previous_attributes[name] = value.toISOString();
  if (Object.keys(previous_attributes).length > 0) await emitClientUpdated(tx, after, previous_attributes);
}

/** A client that gets the profile has nothing that proves it beside keys of its own. @throws {Refusal} 422 */
async function refuseWorkloads(tx: Context, before: ClientRow, next: Pick<ClientRow, 'profile'>): Promise<void> {
  if (isFapi2(before) || !isFapi2(next) || !(await hasFederatedCredential(tx.scope, before.id))) return;
  const detail = 'FAPI 2.0: a client proves itself with keys of its own: delete its federated credentials.';
  throw new Refusal(unfit('profile', 'profile_rule_unmet', detail));
}

/**
 * Changes a client; one that becomes public loses its secret. Emits `client.updated`.
 * @param key of {@link generateProfileKey}
 * @throws {Refusal} 422
 */
export async function changeClient(
  tx: Context,
  client: ClientRow,
  sent: OwnedClientInput,
  key: NewSigningKey | null = null,
): Promise<ClientRow> {
  const input = completed(sent, client);
  const becomesPublic = (input.token_endpoint_auth_method ?? client.token_endpoint_auth_method) === 'none';
  const adjusted: ClientInput = becomesPublic ? { ...input, require_pkce: true } : input;
  const next = { ...client, ...adjusted };
  refuseIfAny(clientInputProblems(tx, adjusted, client));
  await refuseWorkloads(tx, client, next);
  if (key) await addSigningAlgorithm(tx, key);
  await requireSigningAlgorithms(tx, chosenAlgorithms(adjusted));
  await requireDefaultResource(tx, adjusted.default_resource);
  const secret = isSecretless(next) ? noSecret : {};
  // Making it first-party verifies it.
  const verified = adjusted.first_party === true ? { verified: true } : {};
  const decided = { ...verified, ...decidedCeiling(client, adjusted) };
  const changed = await refuseDuplicates(duplicates, () =>
    updateClient(tx.scope, client.id, { ...adjusted, ...secret, ...decided, updated_at: tx.clock.now() }),
  );
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such client.' });
  await emitUpdated(tx, client, changed);
  return changed;
}

/** Verifies a client that came by itself. Emits `client.updated`. @throws {Refusal} 404 */
export async function verifyClient(tx: Context, client: ClientRow): Promise<ClientRow> {
  if (client.verified && !client.verified_by_host) return client;
  const changed = await updateClient(tx.scope, client.id, { verified: true, verified_by_host: false, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such client.' });
  await emitUpdated(tx, client, changed);
  return changed;
}

/**
 * Makes a new secret, unless one is given; the one until now works for another 24 hours, any older one no more.
 * @throws {Refusal} 409 for a public client
 */
export async function rotateClientSecret(
  tx: Context,
  client: ClientRow,
  chosen: Pick<ChosenCredentials, 'client_secret'> = {},
): Promise<{ client: ClientRow; client_secret: string }> {
  if (isSecretless(client)) throw new Refusal({ status: 409, code: 'public_client', detail: 'This client has no secret.' });
  const now = tx.clock.now();
  const client_secret = chosen.client_secret ?? randomToken('cs_');
  const changed = await updateClient(tx.scope, client.id, {
    ...secretColumns(client_secret, now),
    previous_secret_digest: client.secret_digest,
    previous_secret_expires_at: client.secret_digest && new Date(now.getTime() + previousSecretLifetimeMs),
    updated_at: now,
  });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such client.' });
  const previous_attributes = { secret_rotated_at: client.secret_rotated_at?.toISOString() ?? null };
  await emitClientUpdated(tx, changed, previous_attributes);
  return { client: changed, client_secret };
}
