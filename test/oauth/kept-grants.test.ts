// What a grant leaves behind stays as long as the tokens that it gave live: who ends all that clients hold of somebody finds it.
import { expect, test } from 'vitest';
import { revokeGrants } from '../../src/db/tables/revocations.js';
import { grantRevocationEnd } from '../../src/domain/tokens/revoke.js';
import { janitorPass } from '../../src/jobs/janitor.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { answerDevice, deviceCode, pollDevice, startDevice } from '../support/device.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const api = shared(() => addResource(ctx, { access_token_lifetime: 86_400 }));

const hourMs = 3_600_000;

async function aged(table: string, grant_id: unknown, hours: number): Promise<void> {
  const expires_at = new Date(ctx.clock.now().getTime() - hours * hourMs);
  expect(await ctx.db.knex(table).where({ grant_id }).update({ expires_at })).toBe(1);
}

test.each(['refresh token', 'device code'])(
  'a token of a day ends with all that clients hold of its person, hours after the %s has expired (attack 70.1953)',
  async (kind) => {
    const isDevice = kind === 'device code';
    const client = await addClient(ctx, { grant_types: isDevice ? [deviceCode] : ['authorization_code', 'refresh_token'] });
    await addGrant(ctx, client, api, ['read'], 'user');
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    const asked = { scope: 'openid read', resource: api.identifier };
    let access_token: string;
    if (isDevice) {
      const { device_code, user_code } = await startDevice(service.url, client, asked);
      expect((await answerDevice(browser, user_code)).status).toBe(200);
      access_token = (await pollDevice(service.url, client, device_code)).body.access_token;
    } else {
      const first = await redeem(service.url, client, await authorizeCode(browser, client, asked));
      const fields = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) };
      access_token = (await tokenRequest(service.url, client, fields)).body.access_token;
    }
    const isActive = async () => (await oauthPost(service.url, '/oauth/introspect', client, { token: access_token })).body['active'];
    expect(await isActive()).toBe(true);
    const grant_id = claimsOf(access_token)['gid'];
    if (!isDevice) await aged('authorization_codes', grant_id, 72);
    await aged(isDevice ? 'device_codes' : 'refresh_tokens', grant_id, 2);
    await janitorPass(service.deps);
    await revokeGrants(ctx.scope, { user_id: user.id }, grantRevocationEnd(ctx));
    expect(await isActive()).toBe(false);
  },
);
