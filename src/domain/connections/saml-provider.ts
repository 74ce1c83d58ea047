import { findSamlMetadata, saveSamlMetadata, takeSamlMetadataReading, type SamlMetadataRow } from '../../db/tables/saml_metadata.js';
import { maxMetadataLength, readMetadata, type IdentityProvider } from '../saml/metadata.js';
import { SamlRefusal } from '../saml/saml-refusal.js';
import { remembered, type Context } from '../context.js';
import { ofEach } from '../../lib/memo.js';
import type { Connection } from './connections.js';

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** What the options themselves say of the provider, read once for as long as they are remembered; null when its metadata has to be asked for. @throws {SamlRefusal} */
export const providerInOptions = ofEach((options: Readonly<Record<string, unknown>>): IdentityProvider | null => {
  const xml = text(options['idp_metadata_xml']);
  if (xml !== null) return readMetadata(xml);
  const [entity_id, sso_url] = [text(options['idp_entity_id']), text(options['idp_sso_url'])];
  const certificates = options['idp_certificates'];
  return entity_id !== null && sso_url !== null && Array.isArray(certificates)
    ? { entity_id, sso_url, certificates: certificates as string[] }
    : null;
});

async function download(ctx: Context, url: string): Promise<IdentityProvider> {
  const response = await ctx.net.fetch.fetch(url, {
    redirect: 'manual',
    headers: { accept: 'application/samlmetadata+xml, application/xml, text/xml' },
  });
  if (response.status !== 200) throw new SamlRefusal('structure', `the metadata's address answered ${response.status}`);
  const xml = await response.text();
  if (xml.length > maxMetadataLength) throw new SamlRefusal('size', 'the metadata is longer than 256 KiB');
  return readMetadata(xml, ctx.config);
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : null);

/** Whether metadata tells of the provider that was known: what else it says, such as a new certificate, needs nobody. */
const isSame = (known: IdentityProvider, found: IdentityProvider) =>
  known.entity_id === found.entity_id && hostOf(known.sso_url) === hostOf(found.sso_url);

/**
 * Asks for the metadata of a connection that names its address. Another entity ID, or another host that people are sent to, waits for an administrator.
 * What can't be had or read leaves what is known.
 * @returns null when nothing is known, and nothing could be had
 * @throws what the request threw, while nothing is known
 */
export async function refreshSamlMetadata(ctx: Context, connection: Pick<Connection, 'id' | 'options'>): Promise<SamlMetadataRow | null> {
  const url = text(connection.options['idp_metadata_url']);
  if (url === null) return null;
  const stored = await findSamlMetadata(ctx.scope, connection.id);
  const known = stored?.url === url ? stored : null;
  const base = { connection_id: connection.id, url, checked_at: ctx.clock.now() };
  try {
    const found = await download(ctx, url);
    const described = { ...found, certificates: [...found.certificates] };
    const row = known && !isSame(known, found) ? { ...known, pending: described } : { ...described, pending: null };
    await saveSamlMetadata(ctx.scope, { ...row, ...base, last_error: null });
  } catch (error) {
    if (!known) throw error;
    const last_error = (error instanceof Error ? error.message : 'unknown failure').slice(0, 300);
    await saveSamlMetadata(ctx.scope, { ...known, ...base, last_error });
  }
  return findSamlMetadata(ctx.scope, connection.id);
}

/** Takes over what waits, as an administrator says. Null when nothing does. */
export async function acceptSamlMetadata(tx: Context, connection: Pick<Connection, 'id'>): Promise<SamlMetadataRow | null> {
  const known = await findSamlMetadata(tx.scope, connection.id);
  if (!known?.pending) return null;
  const accepted = { ...known, ...known.pending, pending: null };
  await saveSamlMetadata(tx.scope, accepted);
  return accepted;
}

/** What is known of the provider of a SAML connection, asked for where nothing is yet. @throws {SamlRefusal} */
export async function samlProvider(ctx: Context, connection: Connection): Promise<IdentityProvider> {
  const given = providerInOptions(connection.options);
  if (given) return given;
  const known = await remembered(ctx, 'saml_metadata', connection.id, ({ scope }) => findSamlMetadata(scope, connection.id));
  const row = known?.url === connection.options['idp_metadata_url'] ? known : await refreshSamlMetadata(ctx, connection);
  if (!row) throw new SamlRefusal('structure', 'the connection does not say who the provider is');
  return row;
}

const rereadAfterMs = 600_000;

/**
 * The provider as its metadata describes it by now, for a response that none of the certificates in `judgedBy` signed: it may have changed its key unannounced.
 * What arrives unsigned has it read at most once in ten minutes, whoever and how many bring it.
 * @returns null where nothing else is known than before
 */
export async function changedSamlProvider(
  ctx: Context,
  connection: Connection,
  judgedBy: IdentityProvider,
): Promise<IdentityProvider | null> {
  const url = text(connection.options['idp_metadata_url']);
  if (url === null) return null;
  const now = ctx.clock.now();
  const before = new Date(now.getTime() - rereadAfterMs);
  const takes = await takeSamlMetadataReading(ctx.scope, { connection_id: connection.id, url }, { now, before });
  const row = takes ? await refreshSamlMetadata(ctx, connection) : await findSamlMetadata(ctx.scope, connection.id);
  return row?.url === url && row.certificates.some((certificate) => !judgedBy.certificates.includes(certificate)) ? row : null;
}
