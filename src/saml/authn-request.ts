import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import { childrenOf, isElement, type XmlElement } from '../domain/saml/xml.js';
import { bindings } from './names.js';

/** What a service provider asks for (SAML Core 3.4.1). */
export type AuthnRequest = {
  readonly id: string;
  /** The entity ID of whoever asks. */
  readonly issuer: string;
  readonly destination: string | null;
  /** Where the answer is to go; null: it doesn't say. */
  readonly acs_url: string | null;
  /** One of the addresses in metadata that we don't have. */
  readonly has_acs_index: boolean;
  /** A new sign-in is asked for; nobody may be asked for anything. */
  readonly is_new: boolean;
  readonly passive: boolean;
  /** The classes of sign-in of which it demands one; none: any will do. */
  readonly contexts: readonly string[];
  /** Whom the application takes the person for. */
  readonly login_hint: string | null;
};

const refuse = (found: string) => new SamlRefusal('structure', found);

function only(element: XmlElement, namespace: 'assertion' | 'protocol', name: string): XmlElement | null {
  const [found = null, ...more] = childrenOf(element, namespace, name);
  if (more.length > 0) throw refuse(`${element.name} has more than one ${name}`);
  return found;
}

/** xs:boolean. */
function flag({ attributes }: XmlElement, name: string): boolean {
  const text = attributes.get(name) ?? 'false';
  if (!['true', '1', 'false', '0'].includes(text)) throw refuse(`${name} is neither true nor false`);
  return text === 'true' || text === '1';
}

function contextsOf(root: XmlElement): string[] {
  const requested = only(root, 'protocol', 'RequestedAuthnContext');
  if (!requested) return [];
  const comparison = requested.attributes.get('Comparison') ?? 'exact';
  if (comparison !== 'exact' && comparison !== 'minimum') throw refuse(`the Comparison ${comparison} is not supported`);
  const named = childrenOf(requested, 'assertion', 'AuthnContextClassRef').map(({ text }) => text.trim());
  if (named.length === 0 || named.length > 20) throw refuse('RequestedAuthnContext names no class, or too many');
  return named;
}

/** @throws {SamlRefusal} with a sentence that says what it lacks */
export function readAuthnRequest(root: XmlElement): AuthnRequest {
  if (!isElement(root, 'protocol', 'AuthnRequest')) throw refuse(`it is a ${root.name}, no AuthnRequest`);
  const { attributes } = root;
  if (attributes.get('Version') !== '2.0') throw refuse('its version is not 2.0');
  const id = attributes.get('ID') ?? '';
  if (!/^[\p{L}_][\p{L}\p{N}._-]{0,255}$/u.test(id)) throw refuse('its ID is none');
  const issuer = only(root, 'assertion', 'Issuer')?.text.trim() ?? '';
  if (issuer === '') throw refuse('it has no Issuer');
  if ((attributes.get('ProtocolBinding') ?? bindings.post) !== bindings.post)
    throw refuse('assertions are posted: ProtocolBinding is another');
  const subject = only(root, 'assertion', 'Subject');
  const name_id = (subject && only(subject, 'assertion', 'NameID')?.text.trim()) ?? '';
  return {
    id,
    issuer,
    destination: attributes.get('Destination') ?? null,
    acs_url: attributes.get('AssertionConsumerServiceURL') ?? null,
    has_acs_index: attributes.has('AssertionConsumerServiceIndex'),
    is_new: flag(root, 'ForceAuthn'),
    passive: flag(root, 'IsPassive'),
    contexts: contextsOf(root),
    login_hint: /^[^@\s]+@[^@\s]+$/.test(name_id) && name_id.length <= 255 ? name_id : null,
  };
}
