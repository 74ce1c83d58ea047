// Exchanged tokens and those of workloads with DPoP (RFC 9449), and beside another environment.
import { beforeAll, describe, expect, test } from 'vitest';
import { insertFederatedCredential } from '../../src/db/tables/federated_credentials.js';
import { insertTrustedIssuer } from '../../src/db/tables/trusted_issuers.js';
import { clientByWorkload } from '../../src/domain/workloads/assertion.js';
import { findExchangeableTokens } from '../../src/domain/tokens/exchangeable-token.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { ClientGrantRow } from '../../src/db/tables/client_grants.js';
import { jwtBearerGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { uuidv7 } from '../../src/lib/random.js';
import { addClient, addEnvironment, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { authorizeCode, claimsOf, oauthPost, type TokenAnswer } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey, type ClientKey } from '../support/signed-jwt.js';

const service = sharedService();
const ctx = contextOf(service);
const access_token_type = 'urn:ietf:params:oauth:token-type:access_token';
const grant_types = ['authorization_code', tokenExchangeGrantType];
/** What people sign in to, which calls APIs as itself too. */
const app = shared(() => addClient(ctx, { grant_types }));
const caller = shared(() => addClient(ctx, { grant_types: [tokenExchangeGrantType] }));
const demanding = shared(() => addClient(ctx, { grant_types: [tokenExchangeGrantType], dpop_bound_access_tokens: true }));
const orders = shared(() => addResource(ctx, { identifier: 'https://orders.example' }));
const user = shared(() => addUser(ctx));
const targets = new Map<string, ApiResourceRow>();
let [key, other]: ProofKey[] = [];
let platformKey: ClientKey;
let job: TestClient;

beforeAll(async () => {
  const now = () => service.clock.now().getTime();
  [key, other] = [await createProofKey('ES256', now), await createProofKey('EdDSA', now)];
  const policy: Partial<ClientGrantRow> = { token_exchange: 'delegation', subject_audiences: [orders.identifier] };
  for (const token_format of ['jwt', 'opaque'] as const) {
    const target = await addResource(ctx, { identifier: `https://${token_format}.example`, token_format });
    for (const client of [app, caller, demanding]) await addGrant(ctx, client, target, ['read'], 'user', policy);
    targets.set(token_format, target);
  }
  platformKey = await createClientKey('ES256');
  const stamps = { created_at: service.clock.now(), updated_at: service.clock.now() };
  const trusted = { name: 'Platform', issuer: 'https://platform.example', jwks: { keys: [platformKey.jwk] } };
  const { id } = await insertTrustedIssuer(ctx.scope, { ...stamps, ...trusted, id: uuidv7(now()) });
  job = await addClient(ctx, { grant_types: [jwtBearerGrantType], token_endpoint_auth_method: 'private_key_jwt', secret_digest: null });
  for (const target of targets.values()) await addGrant(ctx, job, target);
  const proven = { client_id: job.id, trusted_issuer_id: id, audience: 'us', claims: { sub: 'job' } };
  await insertFederatedCredential(ctx.scope, { ...stamps, ...proven, id: uuidv7(now()) });
});

const identifierOf = (format: string) => targets.get(format)?.identifier as string;
const proof = (by: ProofKey | undefined = key) => (by as ProofKey).proof({ htu: `${service.url}/oauth/token` });
const post = (client: TestClient | null, fields: Record<string, string>, dpop: string | null): Promise<TokenAnswer> =>
  oauthPost(service.url, '/oauth/token', client, fields, dpop === null ? {} : { dpop });

/** A person's token of the application for the API, bound to the key of the proof. */
async function subjectToken(dpop: string | null, resource = orders.identifier): Promise<string> {
  const browser = await signedIn(service, user);
  const { code, redirect_uri, verifier } = await authorizeCode(browser, app, { resource, scope: 'openid read' });
  const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier };
  return (await post(app, fields, dpop)).body.access_token;
}

const exchange = (client: TestClient, subject_token: string, dpop: string | null, fields: Record<string, string> = {}) =>
  post(client, { grant_type: tokenExchangeGrantType, subject_token, subject_token_type: access_token_type, resource: identifierOf('jwt'), ...fields }, dpop); // prettier-ignore
const assertion = async () => {
  const exp = Math.floor(service.clock.now().getTime() / 1000) + 60;
  return platformKey.sign({ iss: 'https://platform.example', aud: 'us', sub: 'job', exp });
};
const workload = async (dpop: string | null, format = 'jwt') =>
  post(null, { grant_type: jwtBearerGrantType, assertion: await assertion(), resource: identifierOf(format) }, dpop);
const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', app, { token })).body;
const refusal = ({ status, body }: TokenAnswer) => [status, body.error];

describe.each(['jwt', 'opaque'] as const)('a proof binds (%s)', (format) => {
  test('an exchanged token', async () => {
    const answer = await exchange(caller, await subjectToken(null), await proof(), { resource: identifierOf(format) });
    expect(answer.body).toMatchObject({ token_type: 'DPoP', issued_token_type: access_token_type });
    if (format === 'jwt') expect(claimsOf(answer.body.access_token)['cnf']).toEqual({ jkt: key?.jkt });
    expect(await introspect(answer.body.access_token)).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: key?.jkt } });
  });

  test('the token of a workload', async () => {
    const answer = await workload(await proof(), format);
    expect([answer.status, answer.body['token_type']]).toEqual([200, 'DPoP']);
    expect(await introspect(answer.body.access_token)).toMatchObject({ active: true, sub: job.id, cnf: { jkt: key?.jkt } });
  });

  test('it is good once (attack 29.609)', async () => {
    const subject = await subjectToken(null);
    const used = await proof();
    const fields = { resource: identifierOf(format) };
    const several = await Promise.all([1, 2, 3].map(() => exchange(caller, subject, used, fields)));
    expect(several.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect(several.filter(({ status }) => status === 400).map(({ body }) => body.error)).toEqual([
      'invalid_dpop_proof',
      'invalid_dpop_proof',
    ]);
    expect(refusal(await workload(used, format))).toEqual([400, 'invalid_dpop_proof']);
    const again = await proof();
    expect((await workload(again, format)).status).toBe(200);
    expect(refusal(await workload(again, format))).toEqual([400, 'invalid_dpop_proof']);
  });
});

describe('a token that is bound to a key', () => {
  test('is exchanged with a proof of that key alone, and what comes of it is bound to it (attack 29.608)', async () => {
    const subject = await subjectToken(await proof());
    for (const dpop of [null, await proof(other)]) {
      const answer = await exchange(app, subject, dpop);
      expect(refusal(answer)).toEqual([400, 'invalid_request']);
      expect(answer.body['error_description']).toContain('bound to a key');
    }
    expect((await exchange(app, subject, await proof())).body).toMatchObject({ token_type: 'DPoP' });
  });

  test('is an actor with that proof alone (attack 29.608)', async () => {
    const [subject, actor_token] = [await subjectToken(null), await subjectToken(await proof())];
    const fields = { actor_token, actor_token_type: access_token_type };
    for (const dpop of [null, await proof(other)])
      expect(refusal(await exchange(app, subject, dpop, fields))).toEqual([400, 'invalid_request']);
    expect((await exchange(app, subject, await proof(), fields)).status).toBe(200);
  });

  test('an opaque one that was exchanged is brought on with its key alone (attack 29.608)', async () => {
    const first = await exchange(app, await subjectToken(null), await proof(), { resource: identifierOf('opaque') });
    expect(refusal(await exchange(app, first.body.access_token, null))).toEqual([400, 'invalid_request']);
    expect((await exchange(app, first.body.access_token, await proof())).status).toBe(200);
  });
});

test('who takes bound tokens only gets none without a proof: client and API resource (attack 29.610)', async () => {
  const strict = await addResource(ctx, { identifier: 'https://strict.example', dpop_bound_access_tokens: true });
  await addGrant(ctx, caller, strict, ['read'], 'user', { token_exchange: 'delegation', subject_audiences: [orders.identifier] });
  await addGrant(ctx, job, strict);
  const subject = await subjectToken(null);
  const resource = strict.identifier;
  expect(refusal(await exchange(demanding, subject, null))).toEqual([400, 'invalid_dpop_proof']);
  expect(refusal(await exchange(caller, subject, null, { resource }))).toEqual([400, 'invalid_dpop_proof']);
  const fields = { grant_type: jwtBearerGrantType, assertion: await assertion(), resource };
  expect(refusal(await post(null, fields, null))).toEqual([400, 'invalid_dpop_proof']);
  expect((await exchange(demanding, subject, await proof())).status).toBe(200);
  expect((await exchange(caller, subject, await proof(), { resource })).status).toBe(200);
  expect((await post(null, fields, await proof())).status).toBe(200);
});

test('a proof is spent by no exchange that is refused before it is stored', async () => {
  const dpop = await proof();
  expect(refusal(await exchange(caller, 'at_unknown', dpop))).toEqual([400, 'invalid_request']);
  expect((await exchange(caller, await subjectToken(null), dpop)).status).toBe(200);
});

test('events tell how the tokens were got', async () => {
  const now = service.clock.now();
  const hook = {
    id: uuidv7(now.getTime()),
    name: 'all',
    url: 'https://receiver.example/',
    events: ['token.issued'],
    secret_hint: 'AAAA',
    created_at: now,
    updated_at: now,
  };
  const secret_sealed = ctx.crypto.sealer.seal('whsec_x', `webhooks/${hook.id}`);
  await ctx.db.knex('webhooks').insert({ environment_id: ctx.environment.id, ...hook, secret_sealed });
  ctx.cache.clear();
  for (const format of ['jwt', 'opaque']) {
    expect((await workload(await proof(), format)).status).toBe(200);
    expect((await exchange(caller, await subjectToken(null), await proof(), { resource: identifierOf(format) })).status).toBe(200);
  }
  const rows = (await ctx.db.knex('events').where({ event_type: 'token.issued' })) as { body: string }[];
  const told = rows.map(({ body }) => (JSON.parse(body) as { data: { grant_type: string; token_format: string } }).data);
  for (const grant of [jwtBearerGrantType, tokenExchangeGrantType])
    for (const format of ['jwt', 'opaque'])
      expect(told).toContainEqual(expect.objectContaining({ grant_type: grant, token_format: format }));
  await ctx.db.knex('webhooks').where({ id: hook.id }).delete();
  ctx.cache.clear();
});

test('tokens and credentials of one environment are nothing in another', async () => {
  const foreign = await addEnvironment(service.deps, 'elsewhere');
  const client = await addClient(foreign, { grant_types: [tokenExchangeGrantType] });
  const first = (await exchange(caller, await subjectToken(null), null, { resource: identifierOf('opaque') })).body.access_token;
  for (const subject of [first, await subjectToken(null)]) {
    const here = await findExchangeableTokens(ctx, caller, { subject, actor: undefined }, [orders.identifier]);
    expect(here.subject).not.toHaveProperty('inactive');
    const there = await findExchangeableTokens(foreign, client, { subject, actor: subject }, [orders.identifier]);
    expect([there.subject, there.actor]).toEqual([{ inactive: expect.any(String) }, { inactive: expect.any(String) }]);
  }
  expect(await clientByWorkload(foreign, await assertion(), null)).toEqual({ reason: expect.stringContaining('no trusted issuer') });
});
