import { assertionIssuerOf, enabledConnections, samlEntityId, type Connection } from '../connections/connections.js';
import { samlProvider } from '../connections/saml-provider.js';
import type { Context } from '../context.js';
import { SamlRefusal } from '../saml/saml-refusal.js';
import type { KeyOwner } from '../workloads/issuer-keys.js';
import type { JsonObject } from '../../lib/json-object.js';

/**
 * The one enabled connection that takes assertions of the issuer; of several, whose issuer is that of many customers, the one of the `tenant` that the assertion
 * claims. Null where there is none, or more than one.
 */
export async function connectionOfIssuer(ctx: Context, iss: string, tenant: unknown): Promise<Connection | null> {
  const all = await enabledConnections(ctx);
  const taking = all.filter((one) => one.assertions === 'on' && assertionIssuerOf(one) === iss);
  const meant = taking.length > 1 ? taking.filter((one) => one.assertion_tenant === (tenant ?? null)) : taking;
  return meant.length === 1 ? (meant[0] as Connection) : null;
}

/** Where the keys of its assertions are. */
export const keyOwnerOf = ({ id, assertion_jwks_uri, jwks_uri }: Connection, issuer: string): KeyOwner => ({
  id,
  issuer,
  jwks_uri: assertion_jwks_uri ?? jwks_uri,
  jwks: null,
});

const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/** What a `sub_id` of SAML may say; of what it says every member has to fit. */
async function nameIdOf(ctx: Context, connection: Connection, sub_id: JsonObject): Promise<string | null> {
  const { format, issuer, nameid, nameid_format, name_qualifier, sp_name_qualifier, ...others } = sub_id;
  const provider = await samlProvider(ctx, connection).catch((error: unknown) => {
    if (error instanceof SamlRefusal) return null;
    throw error;
  });
  const fits =
    format === 'saml-nameid' &&
    issuer === provider?.entity_id &&
    nameid_format !== transient &&
    (nameid_format === undefined || typeof nameid_format === 'string') &&
    (name_qualifier === undefined || name_qualifier === issuer) &&
    (sp_name_qualifier === undefined || sp_name_qualifier === samlEntityId(ctx.environment, connection)) &&
    Object.keys(others).length === 0;
  return fits && typeof nameid === 'string' ? nameid : null;
}

/** The subject at the connection: `sub`, or of a SAML provider the NameID in `sub_id`; null when neither names anybody. */
export async function assertedSubjectOf(ctx: Context, connection: Connection, { sub, sub_id }: JsonObject): Promise<string | null> {
  const isSaml = connection.strategy === 'saml' && sub_id !== undefined;
  if (isSaml && (typeof sub_id !== 'object' || sub_id === null || Array.isArray(sub_id))) return null;
  const subject = isSaml ? await nameIdOf(ctx, connection, sub_id as JsonObject) : sub;
  return typeof subject === 'string' && subject !== '' && subject.length <= 1024 ? subject : null;
}
