import type { SamlKeys } from '../../domain/saml-certificates/saml-certificates.js';
import { readSignedAssertion, type SamlResponse } from '../../domain/saml/gate.js';
import { certificatesOf, type IdentityProvider } from '../../domain/saml/metadata.js';
import { SamlRefusal } from '../../domain/saml/saml-refusal.js';
import { signedBytes } from '../../domain/saml/signed-bytes.js';
import { childrenOf, type XmlElement } from '../../domain/saml/xml.js';

export type SignedPart = 'assertion' | 'response' | 'both';

export type Verification = {
  readonly response: SamlResponse;
  readonly provider: IdentityProvider;
  readonly signed_part: SignedPart;
  readonly keys: SamlKeys;
};

/** What the key of one of our certificates opens. @throws {Error} */
async function decrypt(element: XmlElement, keys: SamlKeys): Promise<string> {
  const { decrypt: open } = await import('xml-encryption');
  const sealed = element.node.toString();
  for (const { privateKey } of keys.all) {
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    // Which algorithms count says the gate: of those that the library warns of AES-CBC alone, which Entra ID and AD FS use.
    const options = { key, disallowDecryptionWithInsecureAlgorithm: false, warnInsecureAlgorithm: false };
    const xml = await new Promise<string | null>((resolve) => {
      open(sealed, options, (error: Error | null, text: unknown) => resolve(error || typeof text !== 'string' ? null : text));
    });
    if (xml !== null) return xml;
  }
  throw new Error('no key opens it');
}

function requireSignatures({ response, signed_part }: Verification): void {
  const { isSigned, assertion } = response;
  if (signed_part !== 'assertion' && !isSigned) throw new SamlRefusal('signature_missing', 'the response is not signed');
  if (signed_part !== 'response' && !assertion?.isEncrypted && !assertion?.isSigned)
    throw new SamlRefusal('signature_missing', 'the assertion is not signed');
}

/** Whichever parts are signed must be by a key of the connection; the assertion is read from what its signature covers, else from what the response's does. */
async function verify({ response, provider, keys }: Verification): Promise<XmlElement> {
  const certificates = certificatesOf(provider.certificates);
  const covered = async (element: XmlElement): Promise<XmlElement> => {
    const found = await signedBytes(element, certificates);
    if (!found) throw new SamlRefusal('signature', 'the signature is not one of the provider’s certificates');
    return found;
  };
  const whole = response.isSigned ? await covered(response.root) : null;
  const { assertion } = response;
  if (assertion?.isEncrypted) {
    return covered(readSignedAssertion(await decrypt(assertion.element, keys)));
  }
  if (assertion?.isSigned) return covered(assertion.element);
  const [found] = whole ? childrenOf(whole, 'assertion', 'Assertion') : [];
  if (!found) throw new SamlRefusal('signature_missing', 'the assertion is not signed');
  return found;
}

/**
 * The assertion, read from the bytes that a signature of the provider covers. Of an encrypted one nothing is told but that it can't be used: what went
 * wrong would help whoever guesses at it.
 * @throws {SamlRefusal}
 */
export async function verifiedAssertion(verification: Verification): Promise<XmlElement> {
  const { assertion } = verification.response;
  if (!assertion) throw new SamlRefusal('structure', 'there is no assertion');
  requireSignatures(verification);
  if (!assertion.isEncrypted) return verify(verification);
  try {
    return await verify(verification);
  } catch {
    throw new SamlRefusal('decryption', 'the encrypted assertion can not be used');
  }
}
