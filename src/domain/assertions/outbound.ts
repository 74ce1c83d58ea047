import { listEnabledExternalServers, type ExternalServerRow } from '../../db/tables/external_servers.js';
import { listEnabledOutboundGrants, listFittingOutboundGrants, type OutboundGrantRow } from '../../db/tables/outbound_grants.js';
import { canonicalResource } from '../../lib/resource-identifier.js';
import type { Client } from '../clients/clients.js';
import { remembered, type Context } from '../context.js';

export type ExternalServer = ExternalServerRow;

/** A server outside, by the name that it was asked for by in its registered spelling, and one of its resources. */
export type OutboundTarget = {
  readonly server: ExternalServer;
  readonly audience: string;
  readonly resource: ExternalServer['resources'][number];
};

/** The first of the names that is the same one, however it is spelled. */
const sameAs = (named: string) => (one: string) => canonicalResource(one) === canonicalResource(named);

/** What audience and resource name; without a resource the only one of the server. Null where they name nothing, or it isn't clear what. */
export async function outboundTarget(ctx: Context, named: string, resource: string | undefined): Promise<OutboundTarget | null> {
  const servers = (await remembered(ctx, 'external_servers', 'enabled', ({ scope }) => listEnabledExternalServers(scope))) ?? [];
  const found = servers.flatMap((server) => {
    const audience = [server.issuer, ...server.audiences].find(sameAs(named));
    return audience === undefined ? [] : [{ server, audience }];
  });
  const [only] = found;
  if (!only || found.length > 1) return null;
  const { resources } = only.server;
  const meant = resource === undefined ? resources : resources.filter(({ identifier }) => sameAs(resource)(identifier));
  return meant.length === 1 && meant[0] ? { ...only, resource: meant[0] } : null;
}

/** What the grants that are for the person let the client have of the target. */
export type OutboundPolicy = Pick<OutboundGrantRow, 'external_client_id' | 'required_acr' | 'max_authentication_age'> & {
  readonly scopes: readonly string[];
  readonly detail_types: readonly string[];
};

const isForSome = ({ organization_id, organization_group_id, role_id }: OutboundGrantRow) =>
  organization_id !== null || organization_group_id !== null || role_id !== null;

/** The grants that fit a person; `areForOthers`: there are some for the target, all of them for other people. */
export type FittingGrants = { readonly grants: readonly OutboundPolicy[]; readonly areForOthers: boolean };

/** The client's grants for the target that are for the person, as they signed in, the oldest first. A statement asks only where one is for some people alone. */
export async function fittingGrants(
  ctx: Context,
  client: Pick<Client, 'id'>,
  { server, resource }: Pick<OutboundTarget, 'server' | 'resource'>,
  person: { readonly user_id: string; readonly organization_id: string | null },
): Promise<FittingGrants> {
  const key = JSON.stringify([server.id, client.id]);
  const all = (await remembered(ctx, 'outbound_grants', key, ({ scope }) => listEnabledOutboundGrants(scope, client.id, server.id))) ?? [];
  const meant = all.filter(({ resources }) => resources === null || resources.includes(resource.identifier));
  const some = meant.filter(isForSome).map(({ id }) => id);
  const fitting = some.length === 0 ? [] : await listFittingOutboundGrants(ctx.scope, some, person);
  const grants = meant
    .filter((one) => !isForSome(one) || fitting.includes(one.id))
    .map(({ external_client_id, required_acr, max_authentication_age, scopes, authorization_details_types: detail_types }) => ({
      external_client_id,
      required_acr,
      max_authentication_age,
      detail_types,
      scopes: resource.scopes.filter((scope) => scopes === null || scopes.includes(scope)),
    }));
  return { grants, areForOthers: grants.length === 0 && meant.length > 0 };
}
