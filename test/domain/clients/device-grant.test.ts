// Which clients may have the device grant (RFC 8628), and what goes with it.
import { expect, test } from 'vitest';
import { clientProblems, withDefaults, type ClientInput, type RuledClient } from '../../../src/domain/clients/rules.js';
import { deviceCodeGrantType } from '../../../src/lib/grant-types.js';

const blank = {
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  backchannel_logout_uri: null,
  jwks: null,
  jwks_uri: null,
  initiate_login_uri: null,
  backchannel_client_notification_endpoint: null,
};

const codesOf = (input: ClientInput) =>
  clientProblems({ ...blank, ...withDefaults(input) } as RuledClient, { allowPrivateNetwork: false }).map(({ code }) => code);

test('a native client may have it without a redirect URI, with refresh tokens or without', () => {
  expect(codesOf({ application_type: 'native', grant_types: [deviceCodeGrantType] })).toEqual([]);
  expect(codesOf({ application_type: 'native', grant_types: [deviceCodeGrantType, 'refresh_token'] })).toEqual([]);
});

test('beside the code flow it needs the redirect URI of that; a machine, which acts for itself, may not have it', () => {
  expect(codesOf({ application_type: 'native', grant_types: [deviceCodeGrantType, 'authorization_code'] })).toEqual(['required']);
  expect(codesOf({ application_type: 'machine', grant_types: ['client_credentials', deviceCodeGrantType] })).toEqual(['grant_not_allowed']);
});
