import type { JSONWebKeySet, JWTPayload } from 'jose';
import type { Findings } from './findings.js';

/** Shannon's estimate of the bits in a text. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const sign of text) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits * text.length;
}

/** RFC 6749 4.1.2.1: %x20-21 / %x23-5B / %x5D-7E. */
export function checkErrorText(findings: Findings, description: string | null): void {
  findings.must(description === null || /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(description), 'error_description keeps to its characters');
}

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

export function checkJwks(findings: Findings, jwks: JSONWebKeySet): void {
  const kids = jwks.keys.map((key) => key['kid']);
  findings.must(jwks.keys.length > 0, 'there is a key');
  findings.must(kids.every((kid) => typeof kid === 'string' && kid.trim() !== ''), 'every key has a kid'); // prettier-ignore
  findings.must(new Set(kids).size === kids.length, 'kids are distinct');
  findings.must(!jwks.keys.some((key) => privateMembers.some((name) => name in key)), 'keys are public');
  findings.must(jwks.keys.every((key) => key['kty'] === 'RSA' && key['alg'] === 'RS256' && key['use'] === 'sig'), 'keys are known to every library');
  findings.must(jwks.keys.every((key) => [key['n'], key['e']].every((part) => typeof part === 'string' && /^[\w-]+$/.test(part))), 'keys are unpadded base64url');
} // prettier-ignore

/** Setup checks of every module. */
export function checkMetadata(findings: Findings, metadata: Record<string, unknown>, jwks: JSONWebKeySet, origin: string): void {
  findings.must(metadata['issuer'] === origin, 'issuer is the address of discovery');
  for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri']) {
    findings.must(typeof metadata[name] === 'string' && URL.canParse(metadata[name]), `${name} is a URL`);
  }
  const methods = metadata['token_endpoint_auth_methods_supported'] as string[] | undefined;
  for (const method of ['client_secret_basic', 'client_secret_post'])
    findings.must(methods?.includes(method) === true, `${method} is listed`);
  checkJwks(findings, jwks);
}

const protocolClaims = new Set([
  'iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'at_hash', 'c_hash', 's_hash', 'nbf', 'jti', 'sid', 'txn',
]); // prettier-ignore

export function checkIdToken(findings: Findings, claims: JWTPayload, parameters: Record<string, string>, at: Date): void {
  const now = at.getTime() / 1000;
  const { iat, exp, sub, nonce, auth_time, acr } = claims as JWTPayload & Record<string, unknown>;
  findings.must(Math.abs((iat ?? 0) - now) < 300, 'iat is now');
  findings.must((exp ?? 0) > now - 300 && (exp ?? 0) < now + 50 * 365 * 86_400, 'exp is in reach');
  findings.must(typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub), 'sub is short ASCII');
  findings.must(nonce === parameters['nonce'], 'nonce equals that of the request');
  findings.must(auth_time === undefined || (typeof auth_time === 'number' && auth_time <= now + 300 && auth_time > now - 365 * 86_400), 'auth_time is recent');
  findings.must(acr === undefined || (typeof acr === 'string' && acr !== ''), 'acr is not empty');
  findings.should(Object.keys(claims).every((name) => protocolClaims.has(name)), `the ID token holds protocol claims only: ${Object.keys(claims).join()}`);
} // prettier-ignore

const texts = [
  'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'profile', 'picture', 'website', 'gender', 'zoneinfo', 'locale', 'preferred_username',
  'email', 'phone_number',
]; // prettier-ignore

/** Types of the standard claims (OIDC Core 5.1). */
export function checkStandardClaims(findings: Findings, claims: Record<string, unknown>): void {
  const isText = (value: unknown) => typeof value === 'string' && value.trim() !== '' && value !== 'null';
  for (const name of texts) findings.must(!(name in claims) || isText(claims[name]), `${name} is a text`);
  for (const name of ['email_verified', 'phone_number_verified']) findings.must(!(name in claims) || typeof claims[name] === 'boolean', `${name} is a boolean`);
  const { updated_at, birthdate, address } = claims;
  findings.must(updated_at === undefined || (Number.isInteger(updated_at) && (updated_at as number) > 631_152_000 && (updated_at as number) < 10_000_000_000), 'updated_at is in seconds');
  findings.must(birthdate === undefined || /^\d{4}(-\d\d-\d\d)?$/.test(birthdate as string), 'birthdate is a date');
  findings.must(address === undefined || Object.values(address as object).every(isText), 'address holds texts');
} // prettier-ignore

/** The standard claims by scope (OIDC Core 5.4). */
export const scopeClaims: Readonly<Record<string, readonly string[]>> = {
  profile: [
    'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'profile', 'picture', 'website', 'gender', 'birthdate', 'zoneinfo', 'locale',
    'updated_at', 'preferred_username',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
}; // prettier-ignore
