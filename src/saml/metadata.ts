import type { Request, Response } from 'express';
import type { Context } from '../domain/context.js';
import { samlKeys } from '../domain/saml-certificates/saml-certificates.js';
import { identityProviderId, singleSignOnUrl } from '../domain/saml/identity-provider.js';
import { element } from '../domain/saml/write-xml.js';
import { xmlNamespaces } from '../domain/saml/xml.js';
import { nameIdFormats } from '../domain/saml/name-id.js';
import { bindings } from './names.js';

/** Our metadata as an identity provider (SAML Metadata 2.4.3): the next certificate too, so that applications know it before it signs. */
async function identityProviderMetadata(ctx: Context): Promise<string> {
  const { all } = await samlKeys(ctx);
  const certificates = all.filter(({ status }) => status !== 'previous');
  const { xml } = element(
    'md:EntityDescriptor',
    { 'xmlns:md': xmlNamespaces.metadata, 'xmlns:ds': xmlNamespaces.signature, entityID: identityProviderId(ctx.environment) },
    element(
      'md:IDPSSODescriptor',
      { protocolSupportEnumeration: xmlNamespaces.protocol, WantAuthnRequestsSigned: 'false' },
      ...certificates.map(({ pem }) => {
        const base64 = pem.replaceAll(/-----(BEGIN|END) CERTIFICATE-----|\s+/g, '');
        const data = element('ds:X509Data', {}, element('ds:X509Certificate', {}, base64));
        return element('md:KeyDescriptor', { use: 'signing' }, element('ds:KeyInfo', {}, data));
      }),
      ...Object.values(nameIdFormats).map((format) => element('md:NameIDFormat', {}, format)),
      ...[bindings.redirect, bindings.post].map((Binding) =>
        element('md:SingleSignOnService', { Binding, Location: singleSignOnUrl(ctx.environment) }),
      ),
    ),
  );
  return xml;
}

/** GET /saml/metadata. */
export async function samlIdentityProviderMetadata({ ctx }: Request, res: Response): Promise<void> {
  res.set({ 'Cache-Control': 'no-cache', 'Content-Type': 'application/samlmetadata+xml' });
  res.send(await identityProviderMetadata(ctx));
}
