import { scopeOf } from '../../db/scope.js';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { ClientGrantRow } from '../../db/tables/client_grants.js';
import { findClient, type ClientRow } from '../../db/tables/clients.js';
import { listCredentialsOfIssuer, type FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import type { TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { CustomDomainRow } from '../../db/tables/custom_domains.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { RoleRow } from '../../db/tables/roles.js';
import type { WebhookDeliveryRow } from '../../db/tables/webhook_deliveries.js';
import type { LogStreamRow } from '../../db/tables/log_streams.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import { findApiResource } from '../../db/tables/api_resources.js';
import {
  listReachOfClientGrants,
  listReachOfDefaultRoles,
  listReachOfLinkedUsers,
  listReachOfRoles,
  listReachOfUser,
} from '../../db/tables/reach.js';
import { own } from '../../lib/named.js';
import { permissionsOfMappings } from '../tokens/claim-mappings.js';
import { couldBothFit } from '../workloads/conditions.js';
import type { Context } from '../context.js';
import { catalogue } from '../events/catalogue.js';
import { managementCollections, managementPermissions } from '../api-resources/management-permissions.js';
import { fullReach, union, noReach, type Reach } from './reach.js';

type Tx = Pick<Context, 'scope'>;

/** A person: the Management permissions of the roles held. */
export const reachOfUser = async (tx: Tx, user_id: string): Promise<Reach> => new Set(await listReachOfUser(tx.scope, user_id));

/** A record of a user (session, identity, consent): the user's reach. */
export const reachOfOwner = (tx: Tx, row: { user_id: string }): Promise<Reach> => reachOfUser(tx, row.user_id);

/** A role: its Management permissions, for whoever is given it. */
export const reachOfRole = async (tx: Tx, role: Pick<RoleRow, 'id'>): Promise<Reach> =>
  new Set(await listReachOfRoles(tx.scope, [role.id]));

/**
 * A client: what it was granted of the Management API, for itself or to ask people for, and the permissions behind what its claim mappings say of
 * people without asking them; a first-party one everything, for people are not asked before they hand it what is theirs.
 */
export async function reachOfClient(tx: Tx, client: Pick<ClientRow, 'id' | 'first_party' | 'claim_mappings'>): Promise<Reach> {
  if (client.first_party) return fullReach;
  return union(await listReachOfClientGrants(tx.scope, client.id), permissionsOfMappings(client.claim_mappings));
}

/**
 * A grant: its scopes, when it is for the Management API. One that exchanges people's tokens for those of another API acts for them without their
 * being asked, as whoever may change them could.
 */
export async function reachOfClientGrant(
  tx: Tx,
  grant: Pick<ClientGrantRow, 'scopes' | 'api_resource_id' | 'token_exchange'>,
): Promise<Reach> {
  const resource = await findApiResource(tx.scope, grant.api_resource_id);
  if (resource?.is_system) return new Set(grant.scopes);
  return grant.token_exchange === 'none' ? noReach : new Set(['users:write']);
}

async function reachOfClientId(tx: Tx, client_id: string): Promise<Reach> {
  const client = await findClient(tx.scope, client_id);
  return client ? reachOfClient(tx, client) : noReach;
}

async function reachOfClientIds(tx: Tx, credentials: readonly Pick<FederatedCredentialRow, 'client_id'>[]): Promise<Reach> {
  let reach = noReach;
  for (const client_id of new Set(credentials.map((one) => one.client_id))) reach = union(reach, await reachOfClientId(tx, client_id));
  return reach;
}

/**
 * A federated credential: all that its client reaches, for whoever writes it decides who is that client; and what the clients reach whose credentials could
 * fit the same tokens, for two that fit prove nobody: whoever writes a second one locks the first client's workloads out.
 */
export async function reachOfFederatedCredential(
  tx: Tx,
  credential: Pick<FederatedCredentialRow, 'client_id' | 'trusted_issuer_id' | 'audience' | 'claims'>,
): Promise<Reach> {
  const beside = (await listCredentialsOfIssuer(tx.scope, credential.trusted_issuer_id)).filter(
    ({ audience, claims }) => audience === credential.audience && couldBothFit(claims, credential.claims),
  );
  return reachOfClientIds(tx, [credential, ...beside]);
}

/** A trusted issuer: all that the clients reach whose credentials rest on it. */
export async function reachOfTrustedIssuer(tx: Tx, { id }: Pick<TrustedIssuerRow, 'id'>): Promise<Reach> {
  return reachOfClientIds(tx, await listCredentialsOfIssuer(tx.scope, id));
}

/** An API resource: the Management API itself is everything; of any other, the permissions behind what its claim mappings say of people. */
export const reachOfApiResource = (resource: Pick<ApiResourceRow, 'is_system' | 'claim_mappings'>): Reach =>
  resource.is_system ? fullReach : new Set(permissionsOfMappings(resource.claim_mappings));

/**
 * A connection: everybody linked to it, the new people whom it may register, when it is trusted to give them what default roles give,
 * everybody whom it may link by address alone, and everybody when its word stands for a second step, which guards whoever comes through it.
 */
export async function reachOfConnection(
  tx: Tx,
  connection: Pick<ConnectionRow, 'id' | 'account_linking' | 'allow_registration' | 'trusted' | 'second_factor'>,
): Promise<Reach> {
  if (connection.account_linking === 'verified_email' || connection.second_factor !== 'own') return fullReach;
  const linked = await listReachOfLinkedUsers(tx.scope, connection.id);
  return connection.allow_registration && connection.trusted ? union(linked, await listReachOfDefaultRoles(tx.scope)) : new Set(linked);
}

/** A custom domain: once it is verified people sign in there, and whoever holds its DNS decides what they see. One that waits is nothing yet. */
export const reachOfCustomDomain = ({ status }: Pick<CustomDomainRow, 'status'>): Reach => (status === 'verified' ? fullReach : noReach);

/**
 * An environment by whom it takes in: an open one gives default roles to whoever comes. That its kind shows or hides all mails is not counted here:
 * `kind` takes everything, and what one for development shows must not hide that it is opened as well.
 */
export async function reachOfEnvironment(tx: Tx, environment: Pick<EnvironmentRow, 'id' | 'registration_enabled'>): Promise<Reach> {
  if (!environment.registration_enabled) return noReach;
  return new Set(await listReachOfDefaultRoles(scopeOf(tx.scope, environment.id)));
}

/** The collections whose names the data of the event type hold beside their subject: the roles of a person, the permissions of a role. */
const namedIn = (event_type: string): string[] =>
  Object.keys(own(catalogue, event_type)?.data.shape ?? {}).filter((name) => name === 'roles' || name === 'permissions');

/** The permissions to read what an event of a type tells: those of its subject's collection, and of what its data name beside it. */
export function permissionsToRead(event_type: string): readonly string[] {
  if (event_type === '*') return managementPermissions.filter((name) => name.endsWith(':read'));
  const subject = event_type.split('.')[0] ?? '';
  // A token is nobody's collection: its event tells who signed in where.
  if (subject === 'token') return ['sessions:read', 'clients:read'];
  const collection = `${subject}s`;
  if (!(managementCollections as readonly string[]).includes(collection)) return permissionsToRead('*');
  return [collection, ...namedIn(event_type)].map((name) => `${name}:read`);
}

/** A webhook: the read permissions of all that it is told now, or was told and may be sent again. */
export function reachOfWebhook(webhook: Pick<WebhookRow, 'events' | 'past_events'>): Reach {
  return new Set([...webhook.events, ...webhook.past_events].flatMap(permissionsToRead));
}

/** A log stream: the read permissions of what it is sent. What waits of a source that it loses is dropped. */
export const reachOfLogStream = ({ sources }: Pick<LogStreamRow, 'sources'>): Reach => new Set(sources.map((source) => `${source}:read`));

/** A delivery: the read permissions of what its payload tells. */
export const reachOfDelivery = (delivery: Pick<WebhookDeliveryRow, 'event_type'>): Reach => new Set(permissionsToRead(delivery.event_type));

/** Whether the actor may read what an event of the type tells. */
export const mayReadEvent = (actor: { readonly permissions: Reach }, event_type: string): boolean =>
  permissionsToRead(event_type).every((name) => actor.permissions.has(name));
