// The limits of the device flow (specification 10.1) while limits are on: what a device asks at its pace is never too much.
import { expect, test } from 'vitest';
import { addClient } from '../support/data.js';
import { deviceCode, pollDevice, startDevice } from '../support/device.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { shared, sharedService } from '../support/shared-service.js';
import { startTestService } from '../support/service.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'on' }));
const tv = shared(async () =>
  addClient(await service.context(), { token_endpoint_auth_method: 'none', grant_types: [deviceCode, 'refresh_token'] }),
);

const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status;

test('ten devices behind one address may ask every five seconds; beyond that it is 429', async () => {
  const { device_code } = await startDevice(service.url, tv);
  const ask = () => statusOf(pollDevice(service.url, tv, device_code));
  for (let asked = 0; asked < 120; asked++) expect(await ask()).toBe(400);
  expect(await ask()).toBe(429);
});

test('naming the grant type elsewhere, or another one here, buys nothing (attack 28.495)', async () => {
  const other = await addClient(await service.context(), {
    token_endpoint_auth_method: 'none',
    grant_types: [deviceCode, 'refresh_token'],
  });
  const start = () => statusOf(oauthPost(service.url, '/oauth/device_authorization', other, { grant_type: deviceCode }));
  for (let started = 0; started < 10; started++) expect(await start()).toBe(200);
  expect(await start()).toBe(429);
  const refresh = { grant_type: 'refresh_token', refresh_token: 'rt_unknown', device_code: 'dc_unknown' };
  expect(await statusOf(tokenRequest(service.url, other, refresh))).toBe(429);
  expect(await statusOf(pollDevice(service.url, other, 'dc_unknown'))).toBe(400);
});
