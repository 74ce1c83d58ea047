import { scopeOf } from '../../db/scope.js';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import { findClients, type ClientRow } from '../../db/tables/clients.js';
import { listClientsOfConnections } from '../../db/tables/client_connections.js';
import { listCredentialsOfIssuer, type FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import type { TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { hasProviderGrants } from '../../db/tables/provider_grants.js';
import type { CustomDomainRow } from '../../db/tables/custom_domains.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import type { RoleRow } from '../../db/tables/roles.js';
import type { WebhookDeliveryRow } from '../../db/tables/webhook_deliveries.js';
import { signalsAudience } from '../../lib/signals-api.js';
import type { LogStreamRow } from '../../db/tables/log_streams.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import { findApiResource } from '../../db/tables/api_resources.js';
import {
  listGrantedElsewhere,
  listReachInEnvironment,
  listReachOfApiResource,
  listReachOfClientGrants,
  listReachOfConsents,
  listReachOfDefaultRoles,
  listReachOfExchanges,
  listReachOfLinkedUsers,
  listReachOfRoles,
  listReachOfUser,
  listSpeakersOfOrganization,
} from '../../db/tables/reach.js';
import { own } from '../../lib/named.js';
import { permissionsOfMappings, samlMappings } from '../claims/claim-mappings.js';
import { couldBothFit } from '../claims/conditions.js';
import type { Context } from '../context.js';
import { catalogue, subjectOfEvent, eventTypes } from '../events/catalogue.js';
import { credentialsWrite, managementCollections, managementPermissions } from './management-permissions.js';
import type { Actor } from '../actor.js';
import { connectionsIn, reachOfSpeaker, switchedWithOrganization } from './reach-of-organizations.js';
import { elsewhere, fullReach, isElsewhere, noReach, union, type Reach } from './reach.js';

type Tx = Pick<Context, 'scope'>;

/** A person: the permissions of the roles held, in the environment and as a member of organizations, also of those that let them in by their address. */
export const reachOfUser = async (tx: Tx, user_id: string): Promise<Reach> => new Set(await listReachOfUser(tx.scope, user_id));

/** Whether a person holds permissions of the Management API in the environment itself. */
export const administersEnvironment = async (tx: Tx, user_id: string): Promise<boolean> =>
  !(await listReachInEnvironment(tx.scope, user_id)).every(isElsewhere);

/** A record of a user (session, identity, consent): the user's reach. */
export const reachOfOwner = (tx: Tx, row: { user_id: string }): Promise<Reach> => reachOfUser(tx, row.user_id);

/** Roles: their permissions, for whoever is given them. */
export const reachOfRoles = async (tx: Tx, roles: readonly Pick<RoleRow, 'id'>[]): Promise<Reach> =>
  new Set(await listReachOfRoles(tx.scope, roles.map(({ id }) => id))); // prettier-ignore

type ReachingClient = Pick<ClientRow, 'id' | 'first_party' | 'signal_audience' | 'claim_mappings' | 'saml_attributes' | 'saml_name_id'>;

/** What administrators gave clients: their grants, and what they are told of people. */
export async function reachGivenToClients(tx: Tx, clients: readonly Omit<ReachingClient, 'first_party'>[]): Promise<Reach> {
  const granted = await listReachOfClientGrants(tx.scope, clients.map(({ id }) => id)); // prettier-ignore
  const mappings = clients.flatMap((client) => [...client.claim_mappings, ...samlMappings(client)]);
  // What their streams may hear of people who never used them.
  const heard = clients.some(({ signal_audience }) => signal_audience !== 'own') ? ['users:read'] : [];
  return union(granted, [...permissionsOfMappings(mappings), ...heard]);
}

async function reachOfClients(tx: Tx, clients: readonly ReachingClient[]): Promise<Reach> {
  if (clients.some(({ first_party }) => first_party)) return fullReach;
  return union(await reachGivenToClients(tx, clients), await listReachOfConsents(tx.scope, clients.map(({ id }) => id))); // prettier-ignore
}

/**
 * A client: what it was granted of each API, for itself or to ask people for, what people allowed it and aren't asked again, and the permissions behind what its claim mappings say of
 * people without asking them; a first-party one everything, for people are not asked before they hand it what is theirs.
 */
export const reachOfClient = (tx: Tx, client: ReachingClient): Promise<Reach> => reachOfClients(tx, [client]);

/** What lets clients have something of people without their being asked: as whoever may change them could. */
export const actsForPeople = (): Promise<Reach> => Promise.resolve(new Set(['users:write']));

/**
 * A grant: its scopes. One that exchanges people's tokens for those of another API, or identity assertions, acts for them without their
 * being asked, as whoever may change them could.
 */
export async function reachOfClientGrant(
  tx: Tx & Pick<Context, 'environment'>,
  grant: Pick<ClientGrantRow, 'scopes' | 'api_resource_id' | 'token_exchange' | 'assertions'>,
): Promise<Reach> {
  const resource = await findApiResource(tx.scope, grant.api_resource_id);
  if (!resource || resource.is_system) return new Set(grant.scopes);
  const scopes = grant.scopes.map((name) => elsewhere(resource.identifier, name));
  const heard = resource.identifier === signalsAudience(tx.environment) ? ['users:read'] : [];
  return union(scopes, [...heard, ...(grant.token_exchange === 'none' && !grant.assertions ? [] : ['users:write'])]);
}

const reachOfClientIds = async (tx: Tx, credentials: readonly Pick<FederatedCredentialRow, 'client_id'>[]): Promise<Reach> =>
  reachOfClients(tx, await findClients(tx.scope, [...new Set(credentials.map(({ client_id }) => client_id))]));

/**
 * A federated credential: all that its client reaches, for whoever writes it decides who is that client; and what the clients reach whose credentials could
 * fit the same tokens, for two that fit prove nobody: whoever writes a second one locks the first client's workloads out.
 */
export async function reachOfFederatedCredential(
  tx: Tx,
  credential: Pick<FederatedCredentialRow, 'client_id' | 'trusted_issuer_id' | 'audience' | 'claims'>,
): Promise<Reach> {
  const others = (await listCredentialsOfIssuer(tx.scope, credential.trusted_issuer_id)).filter(
    ({ audience, claims }) => audience === credential.audience && couldBothFit(claims, credential.claims),
  );
  return reachOfClientIds(tx, [credential, ...others]);
}

/** A trusted issuer: all that the clients reach whose credentials rest on it. */
export const reachOfTrustedIssuer = async (tx: Tx, { id }: Pick<TrustedIssuerRow, 'id'>): Promise<Reach> =>
  reachOfClientIds(tx, await listCredentialsOfIssuer(tx.scope, id));

/** An API resource: the Management API itself is everything; any other all of its permissions, and those behind what its claim mappings say of people. */
export async function reachOfApiResource(
  tx: Tx,
  resource: Pick<ApiResourceRow, 'id' | 'is_system' | 'claim_mappings' | 'assertion_access'>,
): Promise<Reach> {
  if (resource.is_system) return fullReach;
  const given = resource.assertion_access === 'off' ? [] : ['users:write'];
  return union(await listReachOfApiResource(tx.scope, resource.id), [...permissionsOfMappings(resource.claim_mappings), ...given]);
}

/** What the deletion of an API resource takes besides: the policies of clients that exchange people's tokens for its own. */
export const removedWithApiResource = async (tx: Tx, { id }: Pick<ApiResourceRow, 'id'>): Promise<Reach> =>
  new Set(await listReachOfApiResource(tx.scope, id, { exchanges: true }));

/** A permission: itself, for deleting it takes it from every role and client that holds it. */
export async function reachOfPermission(tx: Tx, permission: Pick<PermissionRow, 'name' | 'api_resource_id'>): Promise<Reach> {
  const resource = await findApiResource(tx.scope, permission.api_resource_id);
  return new Set(resource ? [resource.is_system ? permission.name : elsewhere(resource.identifier, permission.name)] : []);
}

/** What the deletion of a permission takes besides: the policies of clients that exchange people's tokens for it. */
export const removedWithPermission = async (
  tx: Tx,
  { api_resource_id, name }: Pick<PermissionRow, 'name' | 'api_resource_id'>,
): Promise<Reach> => new Set(await listReachOfExchanges(tx.scope, api_resource_id, name));

/**
 * A connection: everybody linked to it, the new people whom it may register (unless it is trusted they get no default role of the Management API),
 * everybody whom it may link by address alone, and everybody when its word stands for a second step, which guards whoever comes through it.
 */
export async function reachOfConnection(
  tx: Tx,
  connection: Pick<ConnectionRow, 'id' | 'account_linking' | 'allow_registration' | 'trusted' | 'second_factor' | 'organization_id'>,
): Promise<Reach> {
  const { organization_id } = connection;
  const isOpen = connection.account_linking === 'verified_email' || connection.second_factor !== 'own';
  if (organization_id === null && isOpen) return fullReach;
  const linked = await listReachOfLinkedUsers(tx.scope, [connection.id]);
  // It speaks for the verified domains of its organization alone (specification 16.4), but who came to it by themselves may administer the environment.
  if (organization_id !== null) return union(linked, await reachOfSpeaker(tx, { organization_id }));
  const newcomers = connection.allow_registration ? await listReachOfDefaultRoles(tx.scope) : [];
  return union(linked, connection.trusted ? newcomers : newcomers.filter(isElsewhere));
}

/** What the deletion of a connection changes besides: the clients that offer it, for one that offers none offers all, and its provider grants. */
export const removedWithConnection = async (tx: Tx, { id }: Pick<ConnectionRow, 'id'>): Promise<Reach> =>
  union(
    (await hasProviderGrants(tx.scope, id)) ? ['users:write'] : [],
    await reachOfClients(tx, await listClientsOfConnections(tx.scope, [id])),
  );

/** What the deletion of an organization takes besides: as much as disabling it, and what the clients reach that offer its connections, as deleting these does. */
export async function removedWithOrganization(tx: Tx, row: { readonly id: string }): Promise<Reach> {
  const offering = await listClientsOfConnections(tx.scope, connectionsIn(await listSpeakersOfOrganization(tx.scope, row.id)));
  return union(await switchedWithOrganization(tx, row), await reachOfClients(tx, offering));
}

/**
 * A custom domain: once it is verified people sign in there, and whoever holds its DNS decides what they see. While it is an earlier issuer, everybody's tokens of
 * it go with it, though its record is gone. One that waits is nothing yet.
 */
export const reachOfCustomDomain = (now: Date, { status, issuer_until }: Pick<CustomDomainRow, 'status' | 'issuer_until'>): Reach =>
  status === 'verified' || (issuer_until !== null && issuer_until > now) ? fullReach : noReach;

/**
 * An environment by whom it takes in: an open one gives default roles to whoever comes. That its kind shows or hides all mails is not counted here:
 * `kind` takes everything, and what one for development shows must not hide that it is opened as well.
 */
export async function reachOfEnvironment(tx: Tx, environment: Pick<EnvironmentRow, 'id' | 'registration_enabled'>): Promise<Reach> {
  if (!environment.registration_enabled) return noReach;
  const reach = await listReachOfDefaultRoles(scopeOf(tx.scope, environment.id));
  // An API resource of another environment is another one, though it bears the same identifier: nothing that is held here counts there.
  const own = environment.id === tx.scope.environment_id;
  return new Set(reach.map((name) => (own || !isElsewhere(name) ? name : credentialsWrite)));
}

/** What the actor holds at other APIs than the Management API, for a write: nothing is looked up where nothing counts, or everything does. */
export async function reachElsewhere(tx: Tx, { actor_kind, actor_id, acts_in_full, permissions }: Actor): Promise<Reach> {
  if (!acts_in_full || actor_id === null || permissions.has(credentialsWrite)) return noReach;
  const held = actor_kind === 'user' ? await listReachInEnvironment(tx.scope, actor_id) : await listGrantedElsewhere(tx.scope, actor_id);
  return new Set(held.filter(isElsewhere));
}

/** The collections whose names the data of the event type hold beside their subject: the roles of a person, the permissions of a role. */
const namedIn = (event_type: string): string[] =>
  Object.keys(own(catalogue, event_type)?.data.shape ?? {}).filter((name) => name === 'roles' || name === 'permissions');

/** The permissions to read what an event of a type tells: those of its subject's collection, and of what its data name beside it. */
export function permissionsToReadEvent(event_type: string): readonly string[] {
  if (event_type === '*') return managementPermissions.filter((name) => name.endsWith(':read'));
  const subject = subjectOfEvent(event_type);
  // A token is nobody's collection, nor is a sign-in: their events tell who signed in where.
  if (subject === 'token') return ['sessions:read', 'clients:read'];
  if (subject === 'authorization' || subject === 'approval') return ['users:read'];
  if (subject === 'login') return ['users:read', 'security_events:read'];
  // Whom a directory tells of is told with the address.
  if (subject === 'directory') return ['directories:read', 'users:read'];
  const collection = subject === 'password' || subject === 'provider_token' ? 'users' : `${subject}s`;
  if (!(managementCollections as readonly string[]).includes(collection)) return permissionsToReadEvent('*');
  return [collection, ...namedIn(event_type)].map((name) => `${name}:read`);
}

/** A webhook: the read permissions of all that it is told now, or was told and may be sent again. */
export const reachOfWebhook = (webhook: Pick<WebhookRow, 'events' | 'past_events'>): Reach =>
  new Set([...webhook.events, ...webhook.past_events].flatMap(permissionsToReadEvent));

/** A log stream: the read permissions of what it is sent. What waits of a source that it loses is dropped. */
export const reachOfLogStream = ({ sources }: Pick<LogStreamRow, 'sources'>): Reach =>
  new Set(sources.flatMap((source) => [`${source}:read`, ...(source === 'events' ? feedEventTypes.flatMap(permissionsToReadEvent) : [])]));

/** A signal stream: what is told of people. */
export const reachOfSignalStream = (): Reach => new Set(['users:read']);

/** A delivery: the read permissions of what its payload tells. */
export const reachOfDelivery = (delivery: Pick<WebhookDeliveryRow, 'event_type'>): Reach =>
  new Set(permissionsToReadEvent(delivery.event_type));

export const mayReadEvent = (actor: { readonly permissions: Reach }, event_type: string): boolean =>
  permissionsToReadEvent(event_type).every((name) => actor.permissions.has(name));

/** What the events feed shows: a test of a webhook concerns nobody else (specification 17.1.3). */
export const feedEventTypes: readonly string[] = eventTypes.filter((type) => type !== 'webhook.test');

/** The event types that the actor may follow. */
export const readableEventTypes = (actor: { readonly permissions: Reach }): readonly string[] =>
  feedEventTypes.filter((type) => mayReadEvent(actor, type));
