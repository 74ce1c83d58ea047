import type * as NodeSaml from '@node-saml/node-saml';
import type { KeyObject } from 'node:crypto';
import type { SamlKeys } from '../../domain/saml-certificates/saml-certificates.js';
import { requireSignedAssertion, type SamlResponse } from '../../domain/saml/gate.js';
import type { IdentityProvider } from '../../domain/saml/metadata.js';
import { SamlRefusal } from '../../domain/saml/saml-refusal.js';
import { readXml, type XmlElement } from '../../domain/saml/xml.js';

export type SignedPart = 'assertion' | 'response' | 'both';

type Verification = {
  readonly xml: string;
  readonly response: SamlResponse;
  readonly provider: IdentityProvider;
  readonly signed_part: SignedPart;
  readonly keys: SamlKeys;
  readonly options: Pick<NodeSaml.SamlConfig, 'issuer' | 'callbackUrl'>;
};

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;

/** The key whose certificate the assertion was encrypted for, and what it held. */
async function decrypt(element: XmlElement, keys: SamlKeys): Promise<{ key: string; xml: string }> {
  const { decrypt: open } = await import('xml-encryption');
  const sealed = element.serialize();
  for (const { privateKey } of keys.all) {
    const key = pemOf(privateKey);
    const options = { key, disallowDecryptionWithInsecureAlgorithm: true, warnInsecureAlgorithm: false };
    const xml = await new Promise<string | null>((resolve) => {
      open(sealed, options, (error: Error | null, text: unknown) => resolve(error || typeof text !== 'string' ? null : text));
    });
    if (xml !== null) return { key, xml };
  }
  throw new Error('no key opens it');
}

/** Whichever parts are signed, and those that have to be, must be by a key of the connection. Whatever KeyInfo says counts for nothing. */
async function verify({ xml, response, provider, signed_part, options }: Verification, key: string | null): Promise<XmlElement> {
  const { SAML, ValidateInResponseTo } = await import('@node-saml/node-saml');
  const isEncrypted = response.assertion?.isEncrypted === true;
  const saml = new SAML({
    ...options,
    idpCert: [...provider.certificates],
    wantAuthnResponseSigned: signed_part !== 'assertion' || response.isSigned,
    wantAssertionsSigned: signed_part !== 'response' || isEncrypted || response.assertion?.isSigned === true,
    ...(key !== null && { decryptionPvk: key }),
    // Looked at afterwards, each with its own answer (domain/saml/checks.ts) and by the clock of the service.
    audience: false,
    acceptedClockSkewMs: -1,
    validateInResponseTo: ValidateInResponseTo.never,
  });
  const { profile } = await saml.validatePostResponseAsync({ SAMLResponse: Buffer.from(xml).toString('base64') });
  const verified = profile?.getAssertionXml?.();
  if (verified === undefined) throw new Error('no assertion was verified');
  return readXml(verified);
}

function requireSignatures({ response, signed_part }: Verification): void {
  const { isSigned, assertion } = response;
  if (signed_part !== 'assertion' && !isSigned) throw new SamlRefusal('signature_missing', 'the response is not signed');
  if (signed_part !== 'response' && !assertion?.isEncrypted && !assertion?.isSigned)
    throw new SamlRefusal('signature_missing', 'the assertion is not signed');
}

/**
 * The assertion, read from the bytes that a signature of the provider covers. Of an encrypted one nothing is told but that it can't be used: what went
 * wrong would help whoever guesses at it.
 * @throws {SamlRefusal}
 */
export async function verifiedAssertion(verification: Verification): Promise<XmlElement> {
  const { response, keys } = verification;
  if (!response.assertion) throw new SamlRefusal('structure', 'there is no assertion');
  requireSignatures(verification);
  if (!response.assertion.isEncrypted)
    return verify(verification, null).catch(() => {
      throw new SamlRefusal('signature', 'the signature is not one of the provider’s certificates');
    });
  try {
    const { key, xml } = await decrypt(response.assertion.element, keys);
    requireSignedAssertion(xml);
    return await verify(verification, key);
  } catch {
    throw new SamlRefusal('decryption', 'the encrypted assertion can not be used');
  }
}
