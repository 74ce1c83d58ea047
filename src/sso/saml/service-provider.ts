import type * as NodeSaml from '@node-saml/node-saml';
import { callbackUrl, samlEntityId, type Connection } from '../../domain/connections/connections.js';
import { named } from '../../lib/named.js';
import type { Context } from '../../domain/context.js';
import { samlKeys } from '../../domain/saml-certificates/saml-certificates.js';

/** The Format that a request asks for, by the value of `name_id_format`; null: the provider decides. */
const nameIdFormats: Readonly<Record<string, string>> = named({
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
});

const nameIdFormatOf = ({ options }: Connection) => nameIdFormats[String(options['name_id_format'])] ?? null;

/** Ourselves towards the provider of a connection: what makes requests. */
export async function serviceProvider(
  ctx: Context,
  connection: Connection,
  request: { readonly entryPoint: string; readonly forceAuthn: boolean; readonly generateUniqueId: () => string },
): Promise<NodeSaml.SAML> {
  const { SAML } = await import('@node-saml/node-saml');
  const { primary } = await samlKeys(ctx);
  const isSigned = connection.options['sign_requests'] !== false;
  return new SAML({
    ...request,
    issuer: samlEntityId(ctx.environment, connection),
    callbackUrl: callbackUrl(ctx.environment, connection),
    // The library wants one; responses are verified elsewhere (verification.ts).
    idpCert: primary.pem,
    identifierFormat: nameIdFormatOf(connection),
    disableRequestedAuthnContext: true,
    signatureAlgorithm: 'sha256',
    ...(isSigned && { privateKey: primary.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }),
  });
}

/** Our metadata for the provider of a connection (SAML Metadata 2.4.4): the next certificate too, so that it is known before it signs. */
export async function serviceProviderMetadata(ctx: Context, connection: Connection): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml');
  const { primary, all } = await samlKeys(ctx);
  const isSigned = connection.options['sign_requests'] !== false;
  const key = primary.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return generateServiceProviderMetadata({
    issuer: samlEntityId(ctx.environment, connection),
    callbackUrl: callbackUrl(ctx.environment, connection),
    identifierFormat: nameIdFormatOf(connection),
    wantAssertionsSigned: connection.options['signed_part'] !== 'response',
    generateUniqueId: () => `_${connection.id}`,
    decryptionPvk: key,
    decryptionCert: primary.pem,
    ...(isSigned && { privateKey: key, publicCerts: [primary, ...all.filter(({ status }) => status === 'next')].map(({ pem }) => pem) }),
  });
}
