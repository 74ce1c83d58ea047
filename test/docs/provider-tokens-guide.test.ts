// docs/guides/provider-tokens.md, followed, with a real provider as the third party: what it creates is created, what it sends is sent, and the answers are as it says.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addConnection } from '../support/connections.js';
import { addUser, type TestClient } from '../support/data.js';
import { manage } from '../support/management.js';
import { authorizeCode, oauthPost, redeem } from '../support/oauth.js';
import { allowAccess } from '../support/provider-tokens.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let upstream: UpstreamOidc;
beforeAll(async () => {
  const account = { sub: 'ada', email: 'ada@corp.example', email_verified: true };
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
});
afterAll(() => upstream?.close());

/** The guide's blocks of a language, with what stands for ids and addresses replaced. */
async function blocksOf(language: string, values: Record<string, string>): Promise<string[]> {
  const text = await readFile('docs/guides/provider-tokens.md', 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(([, block = '']) => block);
  const all = { 'https://id.example.com': service.url, ...values };
  return blocks.map((block) => Object.entries(all).reduce((done, [from, to]) => done.replaceAll(from, to), block));
}

const formOf = (command: string, values: Record<string, string>) =>
  Object.fromEntries([...command.matchAll(/-d (\w+)=(\$?[^\s"\\]+)/g)].map(([, name = '', value = '']) => [name, values[value] ?? value]));

test('an agent gets the provider’s access token once its person has allowed it', async () => {
  const api = await manage(service.url);
  const connection = await addConnection(ctx, { issuer: upstream.issuer });
  const ids: Record<string, string> = { CONNECTION_ID: connection.id };
  const [connectionDocument = '', clientDocument = ''] = await blocksOf('json', ids);
  expect((await api.patch(`/connections/${connection.id}`, JSON.parse(connectionDocument))).status).toBe(200);
  const made = await api.post('/clients', JSON.parse(clientDocument));
  expect(made.status).toBe(201);
  const { id, attributes } = made.body['data'];
  ids['CLIENT_ID'] = id as string;
  const grant = (await blocksOf('json', ids))[2] as string;
  expect((await api.post('/provider_grants', JSON.parse(grant))).status).toBe(201);

  const redirect_uri = 'https://agent.example.org/callback';
  const agent = { ...attributes, id, redirect_uris: [redirect_uri], token_endpoint_auth_method: 'client_secret_basic' } as TestClient;
  const user = await addUser(ctx);
  const browser = await signedIn(service, user);
  const code = await authorizeCode(browser, agent, { redirect_uri, scope: 'openid' });
  const { access_token } = (await redeem(service.url, agent, code)).body;
  const command = (await blocksOf('sh', ids)).find((block) => block.includes('grant-type:token-exchange')) ?? '';
  const ask = () => oauthPost(service.url, '/oauth/token', agent, formOf(command, { $ACCESS_TOKEN: access_token }));

  const [, , , refused = '', given = ''] = await blocksOf('json', ids);
  const first = await ask();
  expect(first.status).toBe(400);
  expect(first.body).toEqual(JSON.parse(refused));
  const page = new URL(first.body['error_uri'] as string);
  const back = await allowAccess(browser, { upstream }, user, page.pathname + page.search);
  expect(back.headers.get('location')).toBe(redirect_uri);

  const answer = await ask();
  expect(answer.status).toBe(200);
  const { access_token: ours, ...rest } = JSON.parse(given) as Record<string, unknown>;
  expect(ours).toBe('...');
  const { access_token: theirs, expires_in, ...others } = answer.body as Record<string, unknown>;
  expect({ ...others, expires_in: 3600 }).toEqual(rest);
  expect(expires_in).toBeGreaterThan(3000);
  const there = await fetch(`${upstream.issuer}/me`, { headers: { authorization: `Bearer ${String(theirs)}` } });
  expect(await there.json()).toMatchObject({ sub: `sub of ${user.id}` });
});
