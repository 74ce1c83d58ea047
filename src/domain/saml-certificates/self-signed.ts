import { webcrypto, type KeyObject } from 'node:crypto';

type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

/**
 * A certificate (RFC 5280) that is signed by its own key: what SAML metadata carries keys in. Nobody builds a chain from it.
 * @returns PEM
 */
export async function selfSignedCertificate(
  { publicKey, privateKey }: KeyPair,
  { name, from, until }: { readonly name: string; readonly from: Date; readonly until: Date },
): Promise<string> {
  // The library asks for the polyfill before it is loaded.
  await import('reflect-metadata');
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const { subtle } = webcrypto;
  const keys = {
    publicKey: await subtle.importKey('spki', publicKey.export({ type: 'spki', format: 'der' }), algorithm, true, ['verify']),
    privateKey: await subtle.importKey('pkcs8', privateKey.export({ type: 'pkcs8', format: 'der' }), algorithm, false, ['sign']),
  };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: from,
    notAfter: until,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}
