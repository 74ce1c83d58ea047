import { named } from '../../lib/named.js';
import { SamlRefusal, type SamlRule } from './saml-refusal.js';
import { childrenOf, isElement, type NamespaceName, type XmlElement } from './xml.js';

/** What a response has to say, to be the answer to our request. */
export type Expected = {
  /** The provider's entity ID. */
  readonly issuer: string;
  /** Ours. */
  readonly audience: string;
  /** Where responses are posted to. */
  readonly recipient: string;
  /** The ID of the request. */
  readonly request_id: string;
  readonly now: Date;
};

export type SamlStatement = {
  /** The assertion's ID, and until when it is good. */
  readonly id: string;
  readonly expires_at: Date;
  readonly claims: Readonly<Record<string, unknown>>;
  /** How the person signed in there (`AuthnContextClassRef`), and when. */
  readonly acr: string | null;
  readonly auth_time: Date;
  /** Until when a session may last (`SessionNotOnOrAfter`). */
  readonly session_until: Date | null;
};

/** Clocks may differ by so much. */
const skewMs = 60_000;
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const nameIdFormats = 'urn:oasis:names:tc:SAML:2.0:nameid-format:';
const emailFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
/** Second-level status codes with which a provider says that the person may not, or did not (SAML Core 3.2.2.2). */
const declined = ['AuthnFailed', 'RequestDenied', 'NoPassive', 'NoAuthnContext', 'UnknownPrincipal'];
/** With which Entra ID and AD FS say that somebody took a second factor. */
const methodsClaim = 'http://schemas.microsoft.com/claims/authnmethodsreferences';
const multipleMethods = 'http://schemas.microsoft.com/claims/multipleauthn';

function requireThat(isSo: boolean, rule: SamlRule, found: string): asserts isSo {
  if (!isSo) throw new SamlRefusal(rule, found);
}

/** What was found instead, of a length that a page and a line of the log can show. */
const quoted = (text: string | undefined) => (text === undefined ? 'nothing' : JSON.stringify(text.slice(0, 200)));

function only(element: XmlElement, namespace: NamespaceName, name: string, rule: SamlRule): XmlElement {
  const [found, ...more] = childrenOf(element, namespace, name);
  requireThat(found !== undefined && more.length === 0, rule, `${element.name} has not exactly one ${name}`);
  return found;
}

const textIn = ({ text }: XmlElement) => text.trim();

/** An xs:dateTime in UTC (SAML Core 1.3.3); undefined where there is none. @throws {SamlRefusal} for anything else */
function timeOf({ attributes, name }: XmlElement, attribute: string): Date | undefined {
  const text = attributes.get(attribute);
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text) ? new Date(text.replace(/(\.\d{3})\d+/, '$1')) : null;
  requireThat(time !== null && !Number.isNaN(time.getTime()), 'time', `${attribute} of ${name} is ${quoted(text)}`);
  return time;
}

function requireTimes(element: XmlElement, now: Date): void {
  const [from, until] = [timeOf(element, 'NotBefore'), timeOf(element, 'NotOnOrAfter')];
  requireThat(!from || now.getTime() >= from.getTime() - skewMs, 'time', `${element.name} is good from ${from?.toISOString()} on`);
  requireThat(!until || now.getTime() < until.getTime() + skewMs, 'time', `${element.name} was good until ${until?.toISOString()}`);
}

const lastPart = (code: XmlElement | undefined) => code?.attributes.get('Value')?.split(':').at(-1)?.slice(0, 64) ?? '';

/** @throws {SamlRefusal} `declined` where the person, or the provider, said no; `status` for any other failure */
export function requireSuccess(root: XmlElement): void {
  const code = only(only(root, 'protocol', 'Status', 'status'), 'protocol', 'StatusCode', 'status');
  if (code.attributes.get('Value') === success) return;
  const [inner] = childrenOf(code, 'protocol', 'StatusCode');
  const rule = declined.includes(lastPart(inner)) ? 'declined' : 'status';
  throw new SamlRefusal(rule, `the provider answered ${[lastPart(code), lastPart(inner)].filter(Boolean).join(', ') || 'no status'}`);
}

/** What stands around the assertion. */
function checkResponse(root: XmlElement, isSigned: boolean, { issuer, recipient, request_id, now }: Expected): void {
  requireThat(root.attributes.get('Version') === '2.0', 'version', `the response has version ${quoted(root.attributes.get('Version'))}`);
  const [stated] = childrenOf(root, 'protocol', 'Issuer').concat(childrenOf(root, 'assertion', 'Issuer'));
  requireThat(!stated || textIn(stated) === issuer, 'issuer', `the response is from ${quoted(stated && textIn(stated))}`);
  const destination = root.attributes.get('Destination');
  const isHere = destination === undefined ? !isSigned : destination === recipient;
  requireThat(isHere, 'destination', `the response is for ${quoted(destination)}`);
  const answered = root.attributes.get('InResponseTo');
  requireThat(answered === request_id, 'in_response_to', `the response answers ${quoted(answered)}`);
  const issued = timeOf(root, 'IssueInstant');
  requireThat(!issued || issued.getTime() <= now.getTime() + skewMs, 'time', `the response is from ${issued?.toISOString()}`);
}

/** A bearer's confirmation that names us and our request (SAML Profiles 4.1.4.2). @returns until when it is good */
function checkConfirmation(confirmation: XmlElement, { recipient, request_id, now }: Expected): Date {
  const data = only(confirmation, 'assertion', 'SubjectConfirmationData', 'confirmation');
  const [stated, answered] = [data.attributes.get('Recipient'), data.attributes.get('InResponseTo')];
  requireThat(stated === recipient, 'recipient', `the assertion is for ${quoted(stated)}`);
  requireThat(answered === request_id, 'in_response_to', `the assertion answers ${quoted(answered)}`);
  const until = timeOf(data, 'NotOnOrAfter');
  requireThat(until !== undefined, 'time', 'the confirmation has no NotOnOrAfter');
  requireTimes(data, now);
  return until;
}

/** The first confirmation that holds; where none does, what the first one lacks. */
function checkSubject(subject: XmlElement, expected: Expected): Date {
  const bearers = childrenOf(subject, 'assertion', 'SubjectConfirmation').filter(({ attributes }) => attributes.get('Method') === bearer);
  requireThat(bearers.length > 0, 'confirmation', 'there is no bearer confirmation');
  let first: unknown;
  for (const confirmation of bearers)
    try {
      return checkConfirmation(confirmation, expected);
    } catch (error) {
      first ??= error;
    }
  throw first;
}

const knownConditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'];

function checkConditions(conditions: XmlElement, { audience, now }: Expected): void {
  const unknown = conditions.children.find((one) => !knownConditions.some((name) => isElement(one, 'assertion', name)));
  requireThat(!unknown, 'audience', `the condition ${unknown?.name} is not known here`);
  requireTimes(conditions, now);
  const restrictions = childrenOf(conditions, 'assertion', 'AudienceRestriction');
  requireThat(restrictions.length > 0, 'audience', 'the assertion names no audience');
  for (const restriction of restrictions) {
    const audiences = childrenOf(restriction, 'assertion', 'Audience').map(textIn);
    requireThat(audiences.includes(audience), 'audience', `the assertion is for ${quoted(audiences.join(', '))}`);
  }
}

/** Attributes by their names: a text, or a list where there are several values. */
function attributesOf(assertion: XmlElement): Record<string, unknown> {
  const values: Record<string, string[]> = named();
  for (const statement of childrenOf(assertion, 'assertion', 'AttributeStatement'))
    for (const attribute of childrenOf(statement, 'assertion', 'Attribute')) {
      const name = attribute.attributes.get('Name') ?? '';
      const texts = childrenOf(attribute, 'assertion', 'AttributeValue')
        .filter(({ children }) => children.length === 0)
        .map(textIn);
      if (name !== '') values[name] = [...(values[name] ?? []), ...texts];
    }
  return named(Object.fromEntries(Object.entries(values).map(([name, texts]) => [name, texts.length === 1 ? texts[0] : texts])));
}

/** Whom the assertion is about. A transient NameID is another one at each sign-in, and so none. */
function identityOf(subject: XmlElement): Record<string, unknown> {
  const [name_id, ...more] = childrenOf(subject, 'assertion', 'NameID');
  requireThat(more.length === 0, 'subject', 'there is more than one NameID');
  const format = name_id?.attributes.get('Format');
  if (!name_id || format === `${nameIdFormats}transient`) return {};
  const value = textIn(name_id);
  return { name_id: value, ...(format === emailFormat && { name_id_email: value }) };
}

/**
 * Checks a response whose signatures have been verified.
 * @param assertion as read from the bytes that its signature covers
 * @throws {SamlRefusal}
 */
export function checkStatement(
  response: { readonly root: XmlElement; readonly isSigned: boolean },
  assertion: XmlElement,
  expected: Expected,
): SamlStatement {
  checkResponse(response.root, response.isSigned, expected);
  requireThat(
    assertion.attributes.get('Version') === '2.0',
    'version',
    `the assertion has version ${quoted(assertion.attributes.get('Version'))}`,
  );
  const issuer = textIn(only(assertion, 'assertion', 'Issuer', 'issuer'));
  requireThat(issuer === expected.issuer, 'issuer', `the assertion is from ${quoted(issuer)}`);
  const subject = only(assertion, 'assertion', 'Subject', 'subject');
  const expires_at = checkSubject(subject, expected);
  checkConditions(only(assertion, 'assertion', 'Conditions', 'audience'), expected);
  const [authentication] = childrenOf(assertion, 'assertion', 'AuthnStatement');
  requireThat(authentication !== undefined, 'statement', 'the assertion does not say that anybody signed in');
  const [auth_time, session_until = null] = [timeOf(authentication, 'AuthnInstant'), timeOf(authentication, 'SessionNotOnOrAfter')];
  requireThat(auth_time !== undefined, 'statement', 'the assertion does not say when the person signed in');
  requireThat(!session_until || session_until > expected.now, 'time', `the session there ended at ${session_until?.toISOString()}`);
  const [context] = childrenOf(authentication, 'assertion', 'AuthnContext');
  const [reference] = context ? childrenOf(context, 'assertion', 'AuthnContextClassRef') : [];
  const attributes = attributesOf(assertion);
  const tookSeveral = [attributes[methodsClaim]].flat().includes(multipleMethods);
  // Whatever the provider calls its attributes: these are not theirs to say.
  const { acr: _acr, amr: _amr, auth_time: _time, name_id: _id, name_id_email: _email, ...claims } = attributes;
  const acr = reference ? textIn(reference) : null;
  const signed = { ...(acr !== null && { acr }), ...(tookSeveral && { amr: ['mfa'] }), auth_time: Math.floor(auth_time.getTime() / 1000) };
  return {
    id: assertion.attributes.get('ID') ?? '',
    expires_at,
    claims: named({ ...claims, ...identityOf(subject), ...signed }),
    acr,
    auth_time,
    session_until,
  };
}

/** A little longer than the assertion is good: so long its ID is known. */
export const replayableUntil = ({ expires_at }: Pick<SamlStatement, 'expires_at'>): Date => new Date(expires_at.getTime() + 2 * skewMs);
