import { deleteConnection, insertConnection, updateConnection, type ConnectionRow } from '../../db/tables/connections.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { findSamlMetadata } from '../../db/tables/saml_metadata.js';
import { uuidv7 } from '../../lib/random.js';
import { parseScope } from '../../lib/scope-set.js';
import { attributeAliases, mappableAttributes, missingFields, type StrategyName } from './strategies.js';
import type { Actor } from '../actor.js';
import { assertionProblems, refuseTakenAssertions } from './assertion-problems.js';
import { signalProblems } from './signal-problems.js';
import { organizationProblems } from './organization-problems.js';
import { clientIdProblems } from './client-id-problems.js';
import { optionProblems } from './options.js';
import {
  domainsAfter,
  refuseConnectionReach,
  trustAfter,
  type AssertionAttribute,
  type ConnectionState,
  type SignalAttribute,
} from './reach.js';
import { domainOfEmail, providerSecretAad } from './connections.js';
import { urlProblems } from './url-problems.js';
import { acceptSamlMetadata } from './saml-provider.js';
import { secretProblems } from './secret-receivers.js';
import type { Context } from '../context.js';
import { emitConnectionUpdated } from '../events/connections.js';
import { actorData, connectionData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { invalidTransition, type Problem, Refusal, refuseDuplicates, refuseIfAny, unfit } from '../refusal.js';

/** What can be set on a connection. The secret is plain here, sealed in the row and shown nowhere; null takes it away. */
export type ConnectionInput = Partial<
  Pick<
    ConnectionRow,
    | 'name' | 'display_name' | 'strategy' | 'status' | 'provider_client_id' | 'issuer' | 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint'
    | 'jwks_uri' | 'scopes' | 'claim_mapping' | 'options' | 'allow_registration' | 'account_linking' | 'profile_sync' | 'domains' | 'required' | 'trusted'
    | 'second_factor' | 'trusted_acr_values' | 'token_storage' | AssertionAttribute | SignalAttribute
  >
> & { provider_client_secret?: string | null; signals_token?: string | null }; // prettier-ignore

const duplicates = {
  connections_environment_id_name_key: { attribute: 'name', detail: 'There is a connection of this name already.' },
  connections_pkey: { attribute: 'name', detail: 'The set-up link has made its connection.' },
};

const mappable: ReadonlySet<string> = new Set([...mappableAttributes, ...Object.keys(attributeAliases)]);

const mappingProblems = (row: ConnectionRow): Problem[] =>
  Object.keys(row.claim_mapping)
    .filter((name) => !mappable.has(name))
    .map((name) =>
      unfit(['claim_mapping', name], 'unknown_attribute', `"${name.slice(0, 100)}" is not an attribute that claims can fill.`),
    );

function listProblems(row: ConnectionRow): Problem[] {
  const scopes = row.scopes.flatMap((scope, index) =>
    parseScope(scope)?.length === 1 ? [] : [unfit(['scopes', index], 'invalid_scope', 'This is not one scope (RFC 6749 3.3).')],
  );
  const domains = row.domains.flatMap((domain, index) =>
    domainOfEmail(`x@${domain}`) === null ? [unfit(['domains', index], 'invalid_domain', 'This is not a domain name.')] : [],
  );
  return [...scopes, ...domains];
}

const requiredProblems = (row: ConnectionRow): Problem[] =>
  row.required && row.domains.length === 0
    ? [unfit('domains', 'required', 'A connection that is required names the domains whose addresses sign in through it alone.')]
    : [];

/** SAML has no tokens, and Apple no API that takes them. */
const storageProblems = ({ token_storage, strategy }: ConnectionRow): Problem[] =>
  token_storage && (strategy === 'saml' || strategy === 'apple')
    ? [unfit('token_storage', 'invalid_value', `The strategy ${strategy} gives no tokens that a client could use.`)]
    : [];

/** Everything that is invalid or contradictory about a connection. The provider isn't contacted (specification 8.1.2). */
function connectionProblems(row: ConnectionRow, policy: { allowPrivateNetwork: boolean }): Problem[] {
  const present = (field: string) =>
    field === 'provider_client_secret'
      ? row.provider_client_secret_sealed !== null
      : row[field as 'issuer'] !== null && row[field as 'issuer'] !== '';
  const missing = missingFields(row.strategy as StrategyName, present).map((field) =>
    unfit(field, 'required', `The strategy ${row.strategy} needs ${field}.`),
  );
  return [
    ...urlProblems(row, policy),
    ...missing,
    ...mappingProblems(row),
    ...optionProblems(row, policy),
    ...clientIdProblems(row),
    ...listProblems(row),
    ...requiredProblems(row),
    ...assertionProblems(row),
    ...storageProblems(row),
    ...signalProblems(row),
  ];
}

const blank = {
  provider_client_id: '',
  issuer: null,
  authorization_endpoint: null,
  token_endpoint: null,
  userinfo_endpoint: null,
  jwks_uri: null,
  provider_client_secret_sealed: null,
  scopes: [],
  claim_mapping: {},
  options: {},
  domains: [],
  status: 'enabled',
  allow_registration: true,
  account_linking: 'ask',
  profile_sync: 'on_create',
  required: false,
  trusted: false,
  second_factor: 'own',
  trusted_acr_values: [],
  organization_id: null,
  assertions: 'off',
  assertion_issuer: null,
  assertion_jwks_uri: null,
  assertion_tenant: null,
  assertion_reuse: 'once',
  assertion_clients: 'authenticated',
  token_storage: false,
  signals: 'off',
  signals_issuer: null,
  signals_audience: null,
  signals_poll_url: null,
  signals_token_sealed: null,
} as const;

const secretColumns = <T>({ provider_client_secret: secret, signals_token: token }: ConnectionInput, of: (value: string | null) => T) => ({
  ...(secret === undefined ? {} : { provider_client_secret_sealed: of(secret) }),
  ...(token === undefined ? {} : { signals_token_sealed: of(token) }),
});

function columnsOf(tx: Context, id: string, input: ConnectionInput): Partial<ConnectionRow> {
  const { provider_client_secret: _1, signals_token: _2, ...rest } = input;
  const seal = (value: string | null) => (value === null ? null : tx.crypto.sealer.seal(value, providerSecretAad(id)));
  return { ...rest, ...secretColumns(input, seal) };
}

/** Problems of a new connection, or of a change of `connection`, as far as the given input tells; none without a strategy. */
export function connectionInputProblems(ctx: Pick<Context, 'config'>, input: ConnectionInput, connection: ConnectionRow | null): Problem[] {
  const { provider_client_secret: _1, signals_token: _2, ...rest } = input;
  // Whether there is a secret is all that the rules ask.
  const next = { ...(connection ?? blank), ...rest, ...secretColumns(input, (value) => value) };
  if (!('strategy' in next)) return [];
  const after = next as unknown as ConnectionRow;
  return [...connectionProblems(after, ctx.config), ...(connection ? secretProblems(connection, after, input) : [])];
}

/**
 * Makes a connection. What reaches people who don't prove the local account takes every Management permission.
 * @throws {Refusal} 403, 409, 422
 */
export async function createConnection(
  tx: Context,
  actor: Actor,
  input: ConnectionInput,
  organization: Pick<OrganizationRow, 'id'> | null = null,
): Promise<ConnectionRow> {
  const now = tx.clock.now();
  // The id of its one connection is that of the link: the provider has to be told addresses with it before it can be said what the provider is.
  const id = actor.setup_link_id ?? uuidv7(now.getTime());
  const owned = organization ? ({ organization_id: organization.id, account_linking: 'verified_email' } as const) : {};
  const columns = { ...owned, ...columnsOf(tx, id, input) };
  refuseIfAny([...connectionInputProblems(tx, input, null), ...(organization ? await organizationProblems(tx, input, null) : [])]);
  const after = { ...blank, ...columns } as ConnectionState;
  const trusted = trustAfter(actor, null, after, input.trusted);
  refuseConnectionReach(actor, null, { ...after, trusted });
  await refuseTakenAssertions(tx, null, { ...after, id });
  const created = await refuseDuplicates(duplicates, () =>
    insertConnection(tx.scope, { provider_client_id: '', ...columns, trusted, id, created_at: now, updated_at: now }),
  );
  await emit(tx, 'connection.created', { ...connectionData(created), created_by: actorData(actor) });
  return created;
}

/**
 * Changes a connection. Where that decides anew who somebody is who comes through it, its links are void from then on: each person proves
 * the local account once more, and it keeps its domains only where the actor holds every permission. @throws {Refusal} 403, 404, 422
 */
export async function changeConnection(
  tx: Context,
  actor: Actor,
  connection: ConnectionRow,
  input: ConnectionInput,
): Promise<ConnectionRow> {
  const { organization_id } = connection;
  const { domains: sent, ...others } = input;
  const isOwn = organization_id === null;
  refuseIfAny([...connectionInputProblems(tx, input, connection), ...(isOwn ? [] : await organizationProblems(tx, input, connection))]);
  const columns = columnsOf(tx, connection.id, isOwn ? input : others);
  const merged = { ...connection, ...columns };
  const after = { ...merged, domains: domainsAfter(actor, connection, merged, isOwn ? sent : undefined) };
  const trusted = trustAfter(actor, connection, after, input.trusted);
  refuseConnectionReach(actor, connection, { ...after, trusted });
  await refuseTakenAssertions(tx, connection, after);
  const changed = await updateConnection(tx.scope, connection.id, {
    ...columns,
    ...(isOwn && { domains: after.domains }),
    trusted,
    updated_at: tx.clock.now(),
  });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such connection.' });
  await emitConnectionUpdated(tx, actor, connection, changed);
  return changed;
}

/** Deletes a connection; accounts linked through it keep existing, without that way in. @throws {Refusal} 403 */
export async function removeConnection(tx: Context, actor: Actor, connection: ConnectionRow): Promise<void> {
  refuseConnectionReach(actor, connection, null);
  await deleteConnection(tx.scope, connection.id);
  const deleted_at = tx.clock.now().toISOString();
  await emit(tx, 'connection.deleted', { ...connectionData(connection), deleted_by: actorData(actor), deleted_at });
}

/**
 * Takes over what the metadata of a SAML provider says by now: who comes through the connection is another's word from then on, and its links are void.
 * @throws {Refusal} 403, 409 when nothing waits
 */
export async function acceptMetadata(tx: Context, actor: Actor, connection: ConnectionRow): Promise<ConnectionRow> {
  const known = await findSamlMetadata(tx.scope, connection.id);
  if (!known?.pending) throw invalidTransition('No other metadata waits.');
  // As if the address of the metadata were another one.
  const led = { ...connection, options: { ...connection.options, idp_metadata_url: known.pending.entity_id } };
  const trusted = trustAfter(actor, connection, led, undefined);
  const domains = domainsAfter(actor, connection, led, undefined);
  refuseConnectionReach(actor, connection, { ...led, domains, trusted });
  await acceptSamlMetadata(tx, connection);
  const now = tx.clock.now();
  const changes = { trusted, ...(connection.organization_id === null && { domains }), metadata_accepted_at: now, updated_at: now };
  const changed = await updateConnection(tx.scope, connection.id, changes);
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such connection.' });
  await emitConnectionUpdated(tx, actor, connection, changed);
  return changed;
}
