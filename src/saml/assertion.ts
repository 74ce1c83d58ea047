import type { SamlKey } from '../domain/saml-certificates/saml-certificates.js';
import { element, type Xml } from '../domain/saml/write-xml.js';
import { xmlNamespaces } from '../domain/saml/xml.js';
import { randomToken } from '../lib/random.js';

/** How long an assertion may be used. */
const assertionLifetimeMs = 300_000;

/** Clocks of applications may be late by so much. */
const skewMs = 60_000;

/** Whom a response is for, and what it answers; `request_id` null: nothing. */
export type ResponseAddress = {
  readonly issuer: string;
  readonly acs_url: string;
  readonly audience: string;
  readonly request_id: string | null;
  readonly now: Date;
};

/** What an assertion says of somebody. */
export type Subject = {
  readonly name_id: string;
  readonly format: string;
  /** Whether the NameID is one between us and the application. */
  readonly is_pairwise: boolean;
  /** Texts by the names of the attributes. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  readonly context: string;
  readonly auth_time: Date;
  readonly session_index: string;
  readonly session_until: Date;
};

/** Top-level and second-level code (SAML Core 3.2.2.2), and a text for the application's log. */
export type Status = { readonly code: string; readonly inner?: string; readonly text?: string };

/** SAML Core 8.2. */
const attributeFormat = (name: 'uri' | 'basic') => `urn:oasis:names:tc:SAML:2.0:attrname-format:${name}`;
const statusCode = (name: string) => `urn:oasis:names:tc:SAML:2.0:status:${name}`;
const newId = () => `_${randomToken('')}`;
const inSeconds = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;

const exclusiveC14n = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** The document with a signature of the one element: RSA with SHA-256, right behind its Issuer (SAML Core 5.4). */
async function signed(xml: string, path: string, { pem, privateKey }: SamlKey): Promise<string> {
  const { SignedXml } = await import('xml-crypto');
  const signer = new SignedXml({
    privateKey,
    publicCert: pem,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: exclusiveC14n,
  });
  signer.addReference({
    xpath: path,
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusiveC14n],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' } });
  return signer.getSignedXml();
}

function attributeStatement(attributes: Subject['attributes']): Xml[] {
  const stated = Object.entries(attributes).map(([Name, values]) =>
    element(
      'saml:Attribute',
      { Name, NameFormat: attributeFormat(Name.includes(':') ? 'uri' : 'basic') },
      ...values.map((value) => element('saml:AttributeValue', {}, value)),
    ),
  );
  return stated.length === 0 ? [] : [element('saml:AttributeStatement', {}, ...stated)];
}

/** For one audience, and five minutes, to whoever bears it (SAML Profiles 4.1.4.2). */
function assertion({ issuer, acs_url, audience, request_id, now }: ResponseAddress, subject: Subject): Xml {
  const until = inSeconds(new Date(now.getTime() + assertionLifetimeMs));
  const confirmation = { NotOnOrAfter: until, Recipient: acs_url, InResponseTo: request_id ?? undefined };
  return element(
    'saml:Assertion',
    { 'xmlns:saml': xmlNamespaces.assertion, ID: newId(), Version: '2.0', IssueInstant: inSeconds(now) },
    element('saml:Issuer', {}, issuer),
    element(
      'saml:Subject',
      {},
      element(
        'saml:NameID',
        { Format: subject.format, ...(subject.is_pairwise && { NameQualifier: issuer, SPNameQualifier: audience }) },
        subject.name_id,
      ),
      element(
        'saml:SubjectConfirmation',
        { Method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer' },
        element('saml:SubjectConfirmationData', confirmation),
      ),
    ),
    element(
      'saml:Conditions',
      { NotBefore: inSeconds(new Date(now.getTime() - skewMs)), NotOnOrAfter: until },
      element('saml:AudienceRestriction', {}, element('saml:Audience', {}, audience)),
    ),
    element(
      'saml:AuthnStatement',
      {
        AuthnInstant: inSeconds(subject.auth_time),
        SessionIndex: subject.session_index,
        SessionNotOnOrAfter: inSeconds(subject.session_until),
      },
      element('saml:AuthnContext', {}, element('saml:AuthnContextClassRef', {}, subject.context)),
    ),
    ...attributeStatement(subject.attributes),
  );
}

/** A response, signed as a whole, with an assertion that is signed by itself; or with a status alone. */
export async function writeResponse(
  to: ResponseAddress,
  key: SamlKey,
  answer: { readonly subject: Subject } | { readonly status: Status },
): Promise<string> {
  const { code, inner, text }: Status = 'status' in answer ? answer.status : { code: 'Success' };
  const { xml } = element(
    'samlp:Response',
    {
      'xmlns:samlp': xmlNamespaces.protocol,
      'xmlns:saml': xmlNamespaces.assertion,
      ID: newId(),
      Version: '2.0',
      IssueInstant: inSeconds(to.now),
      Destination: to.acs_url,
      InResponseTo: to.request_id ?? undefined,
    },
    element('saml:Issuer', {}, to.issuer),
    element(
      'samlp:Status',
      {},
      element(
        'samlp:StatusCode',
        { Value: statusCode(code) },
        ...(inner === undefined ? [] : [element('samlp:StatusCode', { Value: statusCode(inner) })]),
      ),
      ...(text === undefined ? [] : [element('samlp:StatusMessage', {}, text)]),
    ),
    ...('subject' in answer ? [assertion(to, answer.subject)] : []),
  );
  const whole = 'subject' in answer ? await signed(xml, "/*/*[local-name(.)='Assertion']", key) : xml;
  return signed(whole, '/*', key);
}
