// Trusted issuers, federated credentials and refused workloads in the dashboard.
import { beforeAll, expect, test } from 'vitest';
import { createTrustedIssuer } from '../../src/domain/workloads/trusted-issuers.js';
import { listCredentialsOfIssuer } from '../../src/db/tables/federated_credentials.js';
import { findTrustedIssuer } from '../../src/db/tables/trusted_issuers.js';
import { noteWorkloadRefusal } from '../../src/db/tables/workload_refusals.js';
import { uuidv7 } from '../../src/lib/random.js';
import { platforms } from '../../src/dashboard/pages/workloads/platforms.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addClient, type TestClient } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
let job: TestClient;

const all = ['trusted_issuers', 'federated_credentials', 'clients'].flatMap((one) => [`${one}:read`, `${one}:write`]);
const pageOf = async (browser: Browser, path: string) => (await browser.get(`/dashboard/${path}`)).text();

const ctx = contextOf(service);

beforeAll(async () => {
  const row = { token_endpoint_auth_method: 'private_key_jwt', secret_digest: null, first_party: false } as const;
  job = await addClient(ctx, { name: 'Deploy job', application_type: 'machine', grant_types: ['client_credentials'], ...row });
  await addClient(ctx, { name: 'With a secret', first_party: false });
  const demands = { require_pkce: true, require_pushed_authorization_requests: true, dpop_bound_access_tokens: true } as const;
  await addClient(ctx, { ...row, ...demands, name: 'With a profile', profile: 'fapi2', id_token_signed_response_alg: 'ES256' });
  await addClient(ctx, { ...row, name: 'By itself', origin: 'registration', verified: false });
});

test('each platform has a form that begins with its issuer and claims', async () => {
  const browser = await signedInWith(service, ...all);
  const chooser = await pageOf(browser, `federated_credentials/new?client=${job.id}`);
  for (const [name, platform] of Object.entries(platforms)) {
    expect(chooser).toContain(`/dashboard/federated_credentials/new?client=${job.id}&amp;platform=${name}`);
    expect(await pageOf(browser, `trusted_issuers/new?platform=${name}`)).toContain(`value="${platform.issuer}"`);
    const form = await pageOf(browser, `federated_credentials/new?client=${job.id}&platform=${name}`);
    for (const claim of Object.keys(platform.claims)) expect(form).toContain(`&#34;${claim}&#34;`);
    for (const refused of ['With a secret', 'With a profile', 'By itself']) expect(form).not.toContain(refused);
  }
});

test('an issuer leads to the form of its platform, one that tells of none to the choice', async () => {
  const browser = await signedInWith(service, ...all);
  const known: [issuer: string, platform: string | null][] = [
    ['https://token.actions.githubusercontent.com', 'github'],
    ['https://login.microsoftonline.com/0a1b/v2.0', 'azure'],
    ['https://a1b2.tokens.sts.global.api.aws', 'aws'],
    ['https://gitlab.example', null],
  ];
  for (const [issuer, platform] of known) {
    const { id } = await createTrustedIssuer(ctx, { name: issuer.slice(8, 40), issuer });
    const to = `federated_credentials/new?trusted_issuer=${id}${platform === null ? '' : `&amp;platform=${platform}`}"`;
    expect(await pageOf(browser, `trusted_issuers/${id}`)).toContain(to);
  }
});

test('an issuer and a credential are made by the forms, and stand at the issuer and at the client', async () => {
  const browser = await signedInWith(service, ...all);
  const issuer = 'https://cluster.example';
  const form = await pageOf(browser, 'trusted_issuers/new?platform=kubernetes');
  const fields = { _csrf: csrfOf(form), name: 'Cluster', issuer, jwks_uri: '', jwks: '' };
  const made = (await browser.post('/dashboard/trusted_issuers', fields)).headers.get('location') ?? '';
  expect(made).toContain('/dashboard/trusted_issuers/');
  const { id } = (await findTrustedIssuer(ctx.scope, issuer)) as { id: string };
  expect(await pageOf(browser, `trusted_issuers/${id}`)).toContain('No federated credentials yet');

  const asked = await pageOf(browser, `federated_credentials/new?trusted_issuer=${id}&platform=kubernetes`);
  const claims = { sub: 'system:serviceaccount:orders:worker', zone: ['<b>', 'two'] };
  const credential = { _csrf: csrfOf(asked), client: job.id, trusted_issuer: id, audience: '', claims: JSON.stringify(claims) };
  const unchosen = await browser.post('/dashboard/federated_credentials', { ...credential, client: '' });
  expect([unchosen.status, await unchosen.text()]).toEqual([422, expect.stringContaining('Fill in this field.')]);
  const wide = await browser.post('/dashboard/federated_credentials', { ...credential, claims: '{"sub":{"prefix":"repo:"}}' });
  expect([wide.status, await wide.text()]).toEqual([422, expect.stringContaining('must name somebody')]);
  expect((await browser.post('/dashboard/federated_credentials', credential)).status).toBe(303);
  expect((await listCredentialsOfIssuer(ctx.scope, id))[0]).toMatchObject({ audience: ctx.environment.issuer, claims });
  for (const path of [`trusted_issuers/${id}`, `clients/${job.id}/workloads`, 'federated_credentials']) {
    const page = await pageOf(browser, path);
    expect(page).toContain('sub = system:serviceaccount:orders:worker');
    expect(page).toContain('zone = &lt;b&gt; or two');
  }
});

test('the last refused tokens stand at the client; who may only read is offered nothing', async () => {
  const refused_at = ctx.clock.now();
  const row = { id: uuidv7(refused_at.getTime()), client_id: job.id, reason: 'exp: the assertion has expired', refused_at };
  await noteWorkloadRefusal(ctx.scope, { ...row, expires_at: new Date(refused_at.getTime() + 86_400_000) });
  const reader = await signedInWith(service, 'clients:read', 'federated_credentials:read');
  const page = await pageOf(reader, `clients/${job.id}/workloads`);
  expect(page).toContain('exp: the assertion has expired');
  expect(page).not.toContain('Create credential');
  expect((await reader.get('/dashboard/federated_credentials/new')).status).toBe(403);
  expect((await reader.get('/dashboard/trusted_issuers')).status).toBe(403);
  const stranger = await signedInWith(service, 'clients:read');
  expect((await stranger.get(`/dashboard/clients/${job.id}/workloads`)).status).toBe(404);
});
