// The order in which the authorization endpoint finds fault: a request that is wrong in every way is put right step by step.
import { beforeAll, describe, expect, test } from 'vitest';
import { addresseeChecks } from '../../src/oauth/authorize/addressee.js';
import { interactionChecks } from '../../src/oauth/authorize/interaction.js';
import { requestChecks } from '../../src/oauth/authorize/validate.js';
import { locationParameters, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
let client: TestClient;
let noCodes: TestClient;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  client = await addClient(ctx, { require_pkce: true, scopes: ['openid'], first_party: false });
  noCodes = await addClient(ctx, { grant_types: ['client_credentials'], redirect_uris: client.redirect_uris });
  const user = await addUser(ctx);
  browser = await signedIn(service, user);
});

/** Asks with parameters in their order; pairs, so that one can come twice. */
async function ask(pairs: readonly (readonly [string, string])[]): Promise<string> {
  const query = new URLSearchParams(pairs.map(([name, value]) => [name, value]));
  const answer = await browser.get(`/oauth/authorize?${query.toString()}`);
  if (answer.status !== 303) return /name="request"/.test(await answer.text()) ? 'consent' : `page ${answer.status}`;
  const parameters = locationParameters(answer);
  return parameters.get('error') === null ? 'code' : `${parameters.get('error')}: ${parameters.get('error_description')}`;
}

test('every failure is told in its turn, the first one first', async () => {
  const wrong: [string, string][] = [
    ['client_id', noCodes.id],
    ['redirect_uri', client.redirect_uris[0] ?? ''],
    ['state', 's'],
    ['nonce', 'one'],
    ['nonce', 'two'],
    ['request_uri', 'urn:example:request'],
    ['registration', '{}'],
    ['login_hint', 'x'.repeat(4097)],
    ['response_mode', 'web_message'],
    ['code_challenge_method', 'plain'],
    ['prompt', 'none login'],
    ['max_age', 'soon'],
    ['claims', '[]'],
    ['resource', 'https://unknown.example'],
    ['scope', '"'],
  ];
  let pairs = wrong;
  const set = (name: string, value: string | null) => {
    pairs = pairs.filter(([known]) => known !== name);
    if (value !== null) pairs = [...pairs, [name, value]];
  };
  const told: string[] = [];
  const steps: [string, string | null][] = [
    ['nonce', 'one'],
    ['request_uri', null],
    ['registration', null],
    ['login_hint', null],
    ['response_type', 'token'],
    ['response_type', 'code'],
    ['response_mode', 'fragment.jwt'],
    ['response_mode', null],
    ['client_id', client.id],
    ['code_challenge_method', null],
    ['code_challenge', 'short'],
    ['code_challenge_method', 'S256'],
    ['code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
    ['prompt', 'none'],
    ['max_age', '3600'],
    ['claims', '{}'],
    ['resource', null],
    ['scope', 'openid profile'],
    ['scope', 'openid'],
    ['prompt', null],
  ];
  for (const [name, value] of steps) {
    told.push(await ask(pairs));
    set(name, value);
  }
  told.push(await ask(pairs));
  expect(told).toEqual([
    'invalid_request: nonce was sent twice',
    'request_uri_not_supported: request_uri is not supported',
    'registration_not_supported: registration is not supported',
    'invalid_request: a parameter is longer than 4096 characters',
    'invalid_request: response_type is required',
    'unsupported_response_type: response_type must be code',
    'invalid_request: response_mode must be one of query, fragment, form_post, jwt, query.jwt, fragment.jwt, form_post.jwt',
    'invalid_request: response_mode fragment.jwt is for single-page and native clients: use query or form_post',
    'unauthorized_client: the client may not use the authorization code flow',
    'invalid_request: code_challenge is missing',
    'invalid_request: this client must use PKCE: code_challenge is missing',
    'invalid_request: code_challenge_method must be S256',
    'invalid_request: code_challenge must be 43 base64url characters',
    'invalid_request: prompt must be none alone, or of login, consent, select_account',
    'invalid_request: max_age must be a number of seconds',
    'invalid_request: claims must be a JSON object',
    'invalid_target: the resource https://unknown.example is not registered',
    'invalid_scope: scope must be words separated by spaces',
    'invalid_scope: the scope goes beyond what the client may ask for',
    'consent_required: the person has not allowed this yet',
    'consent',
  ]);
});

describe('the tables of checks', () => {
  test.each([
    ['addressee', addresseeChecks],
    ['request', requestChecks],
    ['interaction', interactionChecks],
  ])('%s: each check has a name of its own and cites a standard', (_which, checks) => {
    const names = checks.map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const check of checks)
      expect(check.at(-1) as string).toMatch(/^(RFC \d{4}|OIDC Core|OAuth 2\.0 Multiple Response Types|specification) \d+(\.\d+)*$/);
  });
});
