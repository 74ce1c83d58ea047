// The modules of the certification plans "RP-Initiated Logout" and "Back-Channel Logout (RP-initiated)", by their names.
import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pass, type Findings } from '../support/conformance/findings.js';
import { startProvider, type Provider } from '../support/conformance/provider.js';
import { rpOrigin, runModule, type RegisteredClient, type Run, type Tokens } from '../support/conformance/run.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';

const postLogout = `${rpOrigin}/post_logout_redirect`;
const longState = () => randomBytes(96).toString('base64url');
const interactionErrors = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required'];

type LoggedIn = { client: RegisteredClient; tokens: Tokens };

async function logIn(run: Run, extra: Record<string, unknown> = {}): Promise<LoggedIn> {
  const client = await run.registerClient({ post_logout_redirect_uris: [postLogout], ...extra });
  return { client, tokens: await run.signIn(client) };
}

/** What the page says then, which a reviewer looks for on the screenshot. */
const unregistered = 'an address that isn’t registered for it';

const endSession = (run: Run, parameters: Record<string, string>) =>
  run.agent.visit(`${run.endpoint('end_session')}?${new URLSearchParams(parameters).toString()}`);

/** The redirect with exactly the state, and a session that is gone. */
async function mustReturn(run: Run, { client, tokens }: LoggedIn, state: string | null): Promise<void> {
  const answer = await endSession(run, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: postLogout,
    ...(state === null ? {} : { state }),
  });
  if (answer.kind === 'page') throw new Error(`a page instead of the redirect: ${answer.status}`);
  run.findings.must(answer.url.href.startsWith(postLogout), 'the redirect goes to the registered address');
  run.findings.must(answer.parameters.get('state') === state, 'state is exact');
  run.findings.should([...answer.parameters.keys()].every((name) => name === 'state'), 'nothing beside state'); // prettier-ignore
  await run.refusal(run.request(client, { prompt: 'none' }), interactionErrors);
}

/** Never a redirect; the person is left on a page. */
async function mustNotReturn(run: Run, parameters: Record<string, string>, says = ''): Promise<void> {
  const answer = await endSession(run, { state: longState(), ...parameters });
  run.findings.must(answer.kind === 'page', 'no redirect');
  run.findings.must(answer.kind === 'page' && answer.status < 500, 'a page for people');
  run.findings.should(answer.kind === 'page' && answer.html.includes(says), `the page says: ${says}`);
}

/** Logged out, and a page that says so. */
async function mustEndHere(run: Run, { client }: LoggedIn, parameters: Record<string, string>): Promise<void> {
  const answer = await endSession(run, parameters);
  run.findings.must(
    answer.kind === 'page' && answer.status === 200 && answer.html.includes('signed out'),
    'a page says that the session has ended',
  );
  await run.refusal(run.request(client, { prompt: 'none' }), interactionErrors);
}

const discovery = async (run: Run) => {
  for (const [name, value] of Object.entries(run.metadata)) {
    if (name.endsWith('_endpoint')) run.findings.must(String(value).startsWith(run.provider.origin), `${name} is at the issuer`);
  }
  run.findings.must(typeof run.metadata['end_session_endpoint'] === 'string', 'end_session_endpoint is there');
};

const forged = async (run: Run, { client, tokens }: LoggedIn, how: 'key' | 'secret') => {
  const jwt = new SignJWT({ sub: tokens.claims.sub ?? '' })
    .setIssuer(client.client_id)
    .setAudience(run.provider.origin)
    .setIssuedAt()
    .setExpirationTime('5m');
  if (how === 'key') return jwt.setProtectedHeader({ alg: 'RS256', kid: 'rp-key' }).sign(run.provider.signingKey.privateKey);
  return jwt.setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(client.client_secret));
};

const modules: Record<string, (run: Run) => Promise<void>> = {
  'oidcc-rp-initiated-logout-discovery-endpoint-verification': discovery,
  'oidcc-rp-initiated-logout': async (run) => mustReturn(run, await logIn(run), longState()),
  'oidcc-rp-initiated-logout-no-state': async (run) => mustReturn(run, await logIn(run), null),
  async 'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri'(run) {
    const { tokens } = await logIn(run);
    await mustNotReturn(run, { id_token_hint: tokens.id_token, post_logout_redirect_uri: `${rpOrigin}/another` }, unregistered);
  },
  async 'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri'(run) {
    const { tokens } = await logIn(run);
    await mustNotReturn(run, { id_token_hint: tokens.id_token, post_logout_redirect_uri: `${postLogout}?foo=bar` }, unregistered);
  },
  async 'oidcc-rp-initiated-logout-modified-id-token-hint'(run) {
    const { tokens } = await logIn(run);
    const [, body = ''] = tokens.id_token.split('.');
    const header = Buffer.from('{"alg":"none"}').toString('base64url');
    await mustNotReturn(run, { id_token_hint: `${header}.${body}.`, post_logout_redirect_uri: postLogout });
  },
  async 'oidcc-rp-initiated-logout-bad-id-token-hint'(run) {
    const login = await logIn(run);
    await mustNotReturn(run, { id_token_hint: await forged(run, login, 'key'), post_logout_redirect_uri: postLogout });
    await mustNotReturn(run, { id_token_hint: await forged(run, login, 'secret'), post_logout_redirect_uri: postLogout });
  },
  async 'oidcc-rp-initiated-logout-no-id-token-hint'(run) {
    await logIn(run);
    await mustNotReturn(run, { post_logout_redirect_uri: postLogout });
  },
  'oidcc-rp-initiated-logout-no-params': async (run) => mustEndHere(run, await logIn(run), {}),
  'oidcc-rp-initiated-logout-only-state': async (run) => mustEndHere(run, await logIn(run), { state: longState() }),
  async 'oidcc-rp-initiated-logout-no-post-logout-redirect-uri'(run) {
    const login = await logIn(run);
    await mustEndHere(run, login, { id_token_hint: login.tokens.id_token, state: longState() });
  },
  async 'oidcc-backchannel-rp-initiated-logout-discovery-endpoint-verification'(run) {
    await discovery(run);
    run.findings.must(run.metadata['backchannel_logout_supported'] === true, 'backchannel_logout_supported');
    run.findings.must(run.metadata['backchannel_logout_session_supported'] === true, 'backchannel_logout_session_supported');
  },
};

/** A logout token as the specification wants it (Back-Channel Logout 1.0 2.4). */
async function checkLogoutToken(run: Run, { client, tokens }: LoggedIn, body: string): Promise<void> {
  const form = new URLSearchParams(body);
  run.findings.should([...form.keys()].join() === 'logout_token', 'nothing beside logout_token');
  const { payload, protectedHeader } = await jwtVerify(form.get('logout_token') ?? '', createLocalJWKSet(run.jwks), {
    issuer: run.provider.origin,
    audience: client.client_id,
    currentDate: run.provider.service.clock.now(),
  });
  run.findings.must(protectedHeader.typ === 'logout+jwt', 'typ is logout+jwt');
  run.findings.must(
    JSON.stringify(payload['events']) === '{"http://schemas.openid.net/event/backchannel-logout":{}}',
    'events has the one member',
  );
  run.findings.must(
    typeof payload.jti === 'string' && typeof payload.iat === 'number' && typeof payload.exp === 'number',
    'jti, iat and exp',
  );
  run.findings.must(!('nonce' in payload), 'no nonce');
  run.findings.must(payload.sub === tokens.claims.sub && payload['sid'] === tokens.claims['sid'], 'sub and sid are those of the ID token');
}

describe.each(['http', 'https'] as const)('over %s', (scheme) => {
  let provider: Provider;
  let party: RelyingParty;
  beforeAll(async () => {
    [provider, party] = [await startProvider(scheme), await startRelyingParty()];
  });
  afterAll(async () => {
    await provider?.stop();
    await party?.close();
  });

  const run = (module: (run: Run) => Promise<void>): Promise<Findings> => runModule(provider, { scheme, response_mode: 'default' }, module);

  test.each(Object.keys(modules))('%s', async (name) => {
    const findings = await run(modules[name] as (run: Run) => Promise<void>);
    expect(findings.toJSON()).toEqual(pass);
  });

  test('oidcc-backchannel-rp-initiated-logout', async () => {
    const findings = await run(async (one) => {
      const path = `/${randomBytes(4).toString('hex')}/backchannel_logout`;
      const login = await logIn(one, { backchannel_logout_uri: party.origin + path, backchannel_logout_session_required: true });
      await mustReturn(one, login, longState());
      const arrived = await party.next((request) => request.path === path);
      one.findings.must(
        arrived.method === 'POST' && arrived.headers['content-type'] === 'application/x-www-form-urlencoded',
        'a form is posted',
      );
      await checkLogoutToken(one, login, arrived.body);
    });
    expect(findings.toJSON()).toEqual(pass);
  });
});
