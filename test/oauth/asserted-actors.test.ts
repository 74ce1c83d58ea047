// Who acts for a person by the word of another issuer: `act` of an identity assertion (ID-JAG) stays in the token that it gives (RFC 8693 4.1).
import { afterAll, describe, expect, test } from 'vitest';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { addBringer, apiIdentifier, bring, changed, postToB, scripted, sharedAssertionWorld } from '../support/assertions.js';
import { addGrant, addResource, type TestClient } from '../support/data.js';
import { claimsOf } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());

const redeem = async (claims: Record<string, unknown>, client: TestClient = world.client) =>
  bring(service, world, await scripted(world, { client_id: client.id, ...claims }), {}, { client });
const introspect = async (token: string, client = world.client) =>
  (await postToB(service, world, '/oauth/introspect', client, { token })).body as Record<string, unknown>;
const issuer = () => world.issuer.url;
const robot = { sub: 'robot', client_id: 'robot', sub_profile: 'ai_agent' };
const planner = { sub: 'planner', iss: 'https://planner.example' };
const setApi = (changes: Record<string, unknown>) => changed(world.b, 'api_resources', { id: world.api.id }, changes);

describe('the actors of an assertion', () => {
  test('are in the token and at introspection, each with the issuer whose names these are, and the token is good', async () => {
    for (const token_format of ['jwt', 'opaque']) {
      await setApi({ token_format });
      const { status, body } = await redeem({ act: { ...robot, email: 'robot@them.example', act: planner } });
      expect(status).toBe(200);
      const act = { iss: issuer(), ...robot, act: planner };
      if (token_format === 'jwt') expect(claimsOf(body.access_token)['act']).toEqual(act);
      expect(await introspect(body.access_token)).toMatchObject({ active: true, act, scope: 'read' });
      const plain = (await redeem({ act: { sub: 'broker' } })).body.access_token;
      expect(await introspect(plain)).toMatchObject({ active: true, act: { iss: issuer(), sub: 'broker' } });
    }
    await setApi({ token_format: 'jwt' });
  });

  test('come after an agent of ours, which is not named twice, where the API is told of agents', async () => {
    await setApi({ agent_claims: true });
    const agent = await addBringer(world, { is_agent: true });
    const own = { sub: agent.id, client_id: agent.id, sub_profile: 'ai_agent' };
    const other = { iss: issuer(), ...robot };
    for (const [act, kept] of [
      [undefined, own],
      [robot, { ...own, act: other }],
      [own, own],
      [
        { ...own, act: robot },
        { ...own, act: other },
      ],
    ]) {
      const { body } = await redeem({ act }, agent);
      expect(claimsOf(body.access_token)['act']).toEqual(kept);
      expect(await introspect(body.access_token, agent)).toMatchObject({ active: true, act: kept });
    }
    await setApi({ agent_claims: false });
  });

  test('stay in what the token is exchanged for, behind who exchanged it (RFC 8693 4.1)', async () => {
    const next = await addResource(world.b, { identifier: 'https://next.example', token_format: 'jwt' });
    const broker = await addBringer(world, { grant_types: [tokenExchangeGrantType, 'urn:ietf:params:oauth:grant-type:jwt-bearer'] });
    await addGrant(world.b, broker, next, ['read'], 'user', { token_exchange: 'delegation', subject_audiences: [apiIdentifier] });
    const { body } = await redeem({ act: robot }, broker);
    const exchanged = await postToB(service, world, '/oauth/token', broker, {
      grant_type: tokenExchangeGrantType,
      subject_token: body.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: next.identifier,
    });
    expect([exchanged.status, exchanged.body['error_description']]).toEqual([200, undefined]);
    expect(claimsOf(exchanged.body.access_token)['act']).toEqual({
      sub: broker.id,
      client_id: broker.id,
      act: { iss: issuer(), ...robot },
    });
  });

  test('are nobody’s but the issuer’s: one of ours, one without a name, or more than three are refused (attack 58.1792)', async () => {
    const nested = (depth: number): unknown => (depth === 0 ? undefined : { sub: `actor-${depth}`, act: nested(depth - 1) });
    const wrong = [
      { sub: world.client.id, iss: world.b.environment.issuer },
      { ...robot, act: { sub: 'x', iss: world.b.environment.issuer } },
      { client_id: 'robot' },
      { sub: 7 },
      { sub: '' },
      { sub: 'x'.repeat(256) },
      { ...robot, client_id: ['robot'] },
      { ...robot, act: 'planner' },
      'robot',
      null,
      [],
      nested(4),
    ];
    for (const act of wrong) {
      const { status, body } = await redeem({ act });
      expect([JSON.stringify(act), status, body.error]).toEqual([JSON.stringify(act), 400, 'invalid_grant']);
    }
    expect((await redeem({ act: nested(3) })).status).toBe(200);
  });
});
