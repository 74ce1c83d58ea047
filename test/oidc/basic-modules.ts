import { createHash, randomBytes } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import { scopeClaims } from '../support/conformance/checks.js';
import type { RegisteredClient, Run } from '../support/conformance/run.js';

/** What one module of the plan "OpenID Connect Core: Basic Certification Profile" does and demands. */
export type Module = (run: Run) => Promise<void>;

const interactionErrors = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required'];
const longState = () => `${randomBytes(93).toString('base64url').slice(0, 124)}-._~`;
const unsigned = (claims: object) =>
  `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;

/** A module that is one happy flow with these parameters. */
const happy =
  (extra: Record<string, string | undefined>): Module =>
  async (run) => {
    await run.signIn(await run.registerClient(), extra);
  };

/** A flow with a scope: userinfo holds all of its claims, the ID token none. */
const scopeModule =
  (...scopes: string[]): Module =>
  async (run) => {
    const supported = run.metadata['scopes_supported'] as string[];
    run.findings.must(scopes.every((scope) => supported.includes(scope)), 'the scope is supported'); // prettier-ignore
    const tokens = await run.signIn(await run.registerClient(), { scope: ['openid', ...scopes].join(' ') });
    await claimsAreComplete(run, tokens, scopes);
  };

async function claimsAreComplete(run: Run, tokens: Awaited<ReturnType<Run['signIn']>>, scopes: readonly string[]): Promise<void> {
  const claims = await run.userinfo(tokens);
  for (const name of scopes.flatMap((scope) => scopeClaims[scope] ?? [])) run.findings.should(name in claims, `userinfo has ${name}`);
  run.findings.should(!('email' in tokens.claims) && !('name' in tokens.claims), 'the ID token holds neither email nor name');
  if (!scopes.includes('profile')) run.findings.should(!('name' in claims), 'userinfo has no name without profile');
}

/** Two authorizations in one browser; answers with both ID tokens. */
async function twice(
  run: Run,
  client: RegisteredClient,
  first: Record<string, string>,
  second: (hint: string) => Record<string, string>,
  between?: () => void,
) {
  const one = await run.signIn(client, first);
  between?.();
  run.agent.seen = [];
  const parameters = run.request(client, second(one.id_token));
  const code = await run.authorize(parameters);
  const { seen } = run.agent;
  const two = await run.exchange(client, code, parameters);
  run.findings.must(one.claims.sub === two.claims.sub, 'sub stays the same');
  return { one: one.claims as Record<string, number>, two: two.claims as Record<string, number>, seen };
}

const advance = (run: Run, ms: number) => run.provider.service.clock.advance(ms);

/** Code replay: `invalid_grant`, and the first access token is dead afterwards. */
async function replay(run: Run, pauseMs: number): Promise<void> {
  const client = await run.registerClient();
  const parameters = run.request(client);
  const code = await run.authorize(parameters);
  const tokens = await run.exchange(client, code, parameters);
  advance(run, pauseMs);
  run.mustBeRefused(
    await run.tokenRequest(client, { grant_type: 'authorization_code', code, redirect_uri: client.redirect_uri }),
    'invalid_grant',
  );
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const userinfo = await run.provider.fetch(run.endpoint('userinfo'), { headers });
  run.findings.should(userinfo.status >= 400 && userinfo.status < 500, 'the first access token is dead');
}

/** An unsigned request object: the values that count are inside only; it is processed or refused, never ignored. */
async function unsignedObject(run: Run, how: 'request' | 'request_uri', error: string): Promise<void> {
  const algorithms = run.metadata['request_object_signing_alg_values_supported'] as string[] | undefined;
  run.findings.must(algorithms === undefined || !algorithms.includes('none'), 'none is not offered');
  const client = await run.registerClient();
  const { state, ...outside } = run.request(client);
  const value = how === 'request' ? unsigned({ ...outside, state }) : 'https://rp.example/request.jwt';
  delete (outside as Record<string, string>)['nonce'];
  await signInFirst(run, client);
  await run.refusal({ ...outside, [how]: value, state: state as string }, [error]);
}

/** Errors go to the client only once somebody is signed in. */
const signInFirst = (run: Run, client: RegisteredClient) => run.signIn(client);

export const basicModules: Readonly<Record<string, Module>> = {
  'oidcc-server': happy({}),
  async 'oidcc-response-type-missing'(run) {
    const client = await run.registerClient();
    await signInFirst(run, client);
    await run.refusal(run.request(client, { response_type: undefined }), ['unsupported_response_type', 'invalid_request']);
  },
  async 'oidcc-idtoken-signature'(run) {
    const { id_token } = await run.signIn(await run.registerClient());
    const { alg, kid } = decodeProtectedHeader(id_token);
    run.findings.must(alg === 'RS256' && typeof kid === 'string', 'RS256 with a kid');
  },
  async 'oidcc-idtoken-unsigned'(run) {
    const algorithms = run.metadata['id_token_signing_alg_values_supported'] as string[];
    run.findings.must(!algorithms.includes('none'), 'none is not offered, which skips the module');
  },
  'oidcc-userinfo-get': happy({}),
  async 'oidcc-userinfo-post-header'(run) {
    await run.userinfo(await run.signIn(await run.registerClient()), 'post-header');
  },
  async 'oidcc-userinfo-post-body'(run) {
    await run.userinfo(await run.signIn(await run.registerClient()), 'post-body');
  },
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow': happy({ nonce: undefined }),
  'oidcc-scope-profile': scopeModule('profile'),
  'oidcc-scope-email': scopeModule('email'),
  'oidcc-scope-address': scopeModule('address'),
  'oidcc-scope-phone': scopeModule('phone'),
  'oidcc-scope-all': scopeModule('profile', 'email', 'address', 'phone'),
  async 'oidcc-alternate-happy-flow'(run) {
    const client = await run.registerClient();
    const parameters = Object.fromEntries(Object.entries(run.request(client, { scope: 'email openid' })).reverse());
    await claimsAreComplete(run, await run.exchange(client, await run.authorize(parameters), parameters), ['email']);
  },
  'oidcc-display-page': happy({ display: 'page' }),
  'oidcc-display-popup': happy({ display: 'popup' }),
  async 'oidcc-prompt-login'(run) {
    const client = await run.registerClient();
    const { one, two, seen } = await twice(run, client, {}, () => ({ prompt: 'login' }), () => advance(run, 1_500)); // prettier-ignore
    run.findings.must(seen.includes('login'), 'the login page is shown again');
    run.findings.must((two['auth_time'] ?? 0) > (one['auth_time'] ?? 0), 'auth_time is later');
  },
  async 'oidcc-prompt-none-not-logged-in'(run) {
    const client = await run.registerClient();
    await run.refusal(run.request(client, { prompt: 'none', state: longState() }), interactionErrors);
    run.findings.must(run.agent.seen.every((form) => form === 'form-post'), 'no page is shown'); // prettier-ignore
  },
  async 'oidcc-prompt-none-logged-in'(run) {
    const { one, two, seen } = await twice(run, await run.registerClient(), {}, () => ({ prompt: 'none' }));
    run.findings.must(seen.every((form) => form === 'form-post'), 'no page is shown'); // prettier-ignore
    run.findings.must(one['auth_time'] === two['auth_time'], 'auth_time stays the same');
  },
  async 'oidcc-max-age-1'(run) {
    const client = await run.registerClient();
    const { one, two, seen } = await twice(run, client, {}, () => ({ max_age: '1' }), () => advance(run, 2_000)); // prettier-ignore
    run.findings.must(seen.includes('login'), 'the login page is shown again');
    run.findings.must((two['auth_time'] ?? 0) > (one['auth_time'] ?? 0), 'auth_time is there and later');
  },
  async 'oidcc-max-age-10000'(run) {
    const { one, two, seen } = await twice(run, await run.registerClient(), { max_age: '15000' }, () => ({ max_age: '10000' }));
    run.findings.must(one['auth_time'] !== undefined && one['auth_time'] === two['auth_time'], 'auth_time is there and stays the same');
    run.findings.must(!seen.includes('login'), 'nobody is asked to sign in again');
  },
  'oidcc-ensure-request-with-unknown-parameter-succeeds': happy({ extra: 'foobar' }),
  async 'oidcc-id-token-hint'(run) {
    const { one, two } = await twice(run, await run.registerClient(), {}, (hint) => ({ prompt: 'none', id_token_hint: hint }));
    run.findings.must(one['auth_time'] === two['auth_time'], 'auth_time stays the same');
  },
  async 'oidcc-login-hint'(run) {
    await run.signIn(await run.registerClient(), { login_hint: `buffy@${new URL(run.provider.origin).hostname}` });
  },
  'oidcc-ui-locales': happy({ ui_locales: 'se' }),
  'oidcc-claims-locales': happy({ claims_locales: 'se' }),
  async 'oidcc-ensure-request-with-acr-values-succeeds'(run) {
    const supported = run.metadata['acr_values_supported'] as string[];
    const { claims } = await run.signIn(await run.registerClient(), { acr_values: supported.join(' ') });
    run.findings.should(supported.includes(claims['acr'] as string), 'acr is among the supported values');
  },
  'oidcc-codereuse': (run) => replay(run, 0),
  'oidcc-codereuse-30seconds': (run) => replay(run, 30_000),
  async 'oidcc-ensure-registered-redirect-uri'(run) {
    const client = await run.registerClient();
    const answer = await run.agent.visit(run.authorizationUrl(run.request(client, { redirect_uri: `${client.redirect_uri}/random` })));
    run.findings.must(answer.kind === 'page' && answer.status === 400, 'an error page, no redirect');
  },
  async 'oidcc-ensure-post-request-succeeds'(run) {
    const client = await run.registerClient();
    const parameters = run.request(client);
    await run.exchange(client, await run.authorize(parameters, run.agent, true), parameters);
  },
  async 'oidcc-server-client-secret-post'(run) {
    const client = await run.registerClient({ token_endpoint_auth_method: 'client_secret_post' });
    const parameters = run.request(client);
    await run.exchange(client, await run.authorize(parameters), parameters, {}, 'post');
  },
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': (run) =>
    unsignedObject(run, 'request_uri', 'request_uri_not_supported'),
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': (run) =>
    unsignedObject(run, 'request', 'request_not_supported'),
  async 'oidcc-claims-essential'(run) {
    const client = await run.registerClient();
    const tokens = await run.signIn(client, { claims: JSON.stringify({ userinfo: { name: { essential: true } } }) });
    run.findings.should('name' in (await run.userinfo(tokens)), 'userinfo has the name');
    run.findings.should(!('name' in tokens.claims), 'the ID token has no name');
  },
  async 'oidcc-ensure-request-object-with-redirect-uri'(run) {
    const client = await run.registerClient();
    const inside = run.request(client);
    const outside = { ...inside, redirect_uri: 'https://rp.example/other', request: unsigned(inside) };
    const answer = await run.agent.visit(run.authorizationUrl(outside));
    run.findings.must(answer.kind === 'page' && answer.status === 400, 'an error page, no redirect');
  },
  async 'oidcc-refresh-token'(run) {
    const [client, other] = [await run.registerClient(), await run.registerClient()];
    const offline = { scope: 'openid offline_access', prompt: 'consent' };
    const first = await run.signIn(client, offline);
    const foreign = await run.signIn(other, offline);
    run.findings.must((run.metadata['grant_types_supported'] as string[]).includes('refresh_token'), 'the grant is listed');
    advance(run, 1_100);
    const fields = { grant_type: 'refresh_token', refresh_token: String(first.refresh_token), scope: 'openid offline_access' };
    const { status, headers, body } = await run.tokenRequest(client, fields);
    run.findings.must(status === 200, `refresh answers 200, not ${status}`);
    run.findings.must(headers.get('cache-control')?.includes('no-store') === true, 'refresh answers no-store');
    run.findings.must(body['token_type'] === 'Bearer', 'token_type is Bearer');
    const again = await run.verifyIdToken(client, body['id_token'] as string, {});
    run.findings.must(again.iat !== first.claims.iat, 'iat is new');
    for (const name of ['iss', 'sub', 'aud', 'azp', 'auth_time', 'sid', 'acr'])
      run.findings.must(again[name] === first.claims[name], `${name} stays the same`);
    await run.userinfo({ access_token: body['access_token'] as string, claims: again });
    run.mustBeRefused(await run.tokenRequest(client, { ...fields, refresh_token: String(foreign.refresh_token) }), 'invalid_grant');
  },
  async 'oidcc-ensure-request-with-valid-pkce-succeeds'(run) {
    const code_verifier = randomBytes(32).toString('base64url');
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
    const client = await run.registerClient();
    const parameters = run.request(client, { code_challenge, code_challenge_method: 'S256' });
    await run.exchange(client, await run.authorize(parameters), parameters, { code_verifier });
  },
};
