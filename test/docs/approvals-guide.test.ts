// docs/guides/approvals.md, followed: the client is created as it says, asks, and gets what somebody approved.
import { readFile } from 'node:fs/promises';
import * as client from 'openid-client';
import { expect, test } from 'vitest';
import { approvalPathIn, decide, freshlySignedIn } from '../support/approvals.js';
import { addUser, type TestClient } from '../support/data.js';
import { manage } from '../support/management.js';
import { claimsOf, oauthPost } from '../support/oauth.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import { proofsNow, signedInBy } from '../support/signed-in.js';

const service = sharedManagedService();
const ctx = contextOf(service);

async function blocksOf(language: string): Promise<string[]> {
  const text = await readFile('docs/guides/approvals.md', 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
}

const formOf = (command: string, values: Record<string, string>) =>
  Object.fromEntries(
    [...command.matchAll(/--data-urlencode "(\w+)=([^"]+)"/g)].map(([, name = '', value = '']) => [name, values[value] ?? value]),
  );

async function registered(): Promise<TestClient> {
  const [document = ''] = await blocksOf('json');
  const made = await (await manage(service.url)).post('/clients', JSON.parse(document));
  expect(made.status).toBe(201);
  return { ...made.body['data'].attributes, id: made.body['data'].id, token_endpoint_auth_method: 'client_secret_basic' } as TestClient;
}

test('an agent that asks by curl gets tokens once the person has approved with a passkey', async () => {
  const agent = await registered();
  const user = await addUser(ctx, { email: 'ada@example.com' });
  const [ask = '', poll = ''] = await blocksOf('sh');
  const [, answer = ''] = await blocksOf('json');
  const { status, body } = await oauthPost(service.url, '/oauth/backchannel_authentication', agent, formOf(ask, {}));
  expect(status).toBe(200);
  const { auth_req_id, ...rest } = body as unknown as { auth_req_id: string };
  const { auth_req_id: shown, ...documented } = JSON.parse(answer) as { auth_req_id: string };
  expect([rest, shown]).toEqual([documented, 'ar_…']);
  const question = () => oauthPost(service.url, '/oauth/token', agent, formOf(poll, { $AUTH_REQ_ID: auth_req_id }));
  expect((await question()).body.error).toBe('authorization_pending');
  service.clock.advance(6000);
  const path = await approvalPathIn(service.url, user);
  expect((await decide(await signedInBy(service, user, proofsNow(service, 'passkey')), path, 'allow')).status).toBe(200);
  const tokens = await question();
  expect(tokens.status).toBe(200);
  expect(claimsOf(tokens.body['id_token'] as string)).toMatchObject({ sub: user.id, acr: 'phr' });
});

test('openid-client asks and polls as the guide says', async () => {
  const agent = await registered();
  const user = await addUser(ctx);
  const [code = ''] = await blocksOf('js');
  for (const call of [
    'client.discovery(',
    'client.initiateBackchannelAuthentication(config, {',
    'client.pollBackchannelAuthenticationGrant(config, asked)',
  ])
    expect(code).toContain(call);
  const config = await client.discovery(new URL(service.url), agent.id, agent.client_secret, undefined, {
    execute: [client.allowInsecureRequests],
  });
  const asked = await client.initiateBackchannelAuthentication(config, { scope: 'openid', login_hint: user.email });
  const path = await approvalPathIn(service.url, user);
  service.clock.advance(1000);
  await decide(await freshlySignedIn(service, user), path, 'allow');
  const tokens = await client.pollBackchannelAuthenticationGrant(config, { ...asked, interval: 0 });
  expect(tokens.claims()?.sub).toBe(user.id);
});
