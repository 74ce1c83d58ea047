// Identity assertion authorization grants (ID-JAG) between two environments: A signs the person in and issues, B redeems.
import { decodeProtectedHeader } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { idJagProfile, idJagTokenType, idJagTyp } from '../../src/lib/identity-assertions.js';
import {
  apiIdentifier,
  askForAssertion,
  bring,
  postToB,
  refreshTokenType,
  sharedAssertionWorld,
  signInToApp,
} from '../support/assertions.js';
import { claimsOf } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());

describe('an assertion of A gives a token of B', () => {
  test('by the ID token of the sign-in: the person of the verified domain is made, and a member', async () => {
    const { id_token } = await signInToApp(service, world);
    const issued = await askForAssertion(service, world, { subject_token: id_token, scope: 'read' });
    expect(issued.body).toMatchObject({ token_type: 'N_A', issued_token_type: idJagTokenType, scope: 'read', expires_in: 300 });
    const assertion = issued.body.access_token;
    expect(decodeProtectedHeader(assertion)).toMatchObject({ typ: idJagTyp, alg: 'RS256' });
    const claims = claimsOf(assertion);
    expect(claims).toMatchObject({
      iss: world.a.environment.issuer,
      aud: world.b.environment.issuer,
      sub: world.user.id,
      client_id: world.client.id,
      resource: apiIdentifier,
      scope: 'read',
      acr: '1',
      email: world.user.email,
      exp: (claims['iat'] as number) + 300,
    });
    const redeemed = await bring(service, world, assertion);
    expect(redeemed.body).toMatchObject({ token_type: 'Bearer', scope: 'read', expires_in: 600 });
    expect([redeemed.status, redeemed.body.refresh_token]).toEqual([200, undefined]);
    const token = claimsOf(redeemed.body.access_token);
    expect(token).toMatchObject({
      iss: world.b.environment.issuer,
      aud: apiIdentifier,
      client_id: world.client.id,
      org_id: world.organization.id,
      acr: '1',
    });
    expect(token['sid']).toBeUndefined();
    const there = await postToB(service, world, '/oauth/introspect', world.client, { token: redeemed.body.access_token });
    expect(there.body).toMatchObject({ active: true, sub: token['sub'] });
    // The second time it is the same person.
    const again = await askForAssertion(service, world, { subject_token: id_token });
    expect(claimsOf((await bring(service, world, again.body.access_token)).body.access_token)['sub']).toBe(token['sub']);
  });

  test('by a refresh token, which stays as it is', async () => {
    const { refresh_token } = await signInToApp(service, world);
    for (let time = 0; time < 2; time++) {
      const issued = await askForAssertion(service, world, { subject_token: refresh_token, subject_token_type: refreshTokenType });
      expect(issued.body).toMatchObject({ token_type: 'N_A', scope: 'read write' });
      expect((await bring(service, world, issued.body.access_token, { scope: 'write' })).body.scope).toBe('write');
    }
  });

  test('discovery names token type and profile', async () => {
    const document = (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    expect(document).toMatchObject({
      identity_chaining_requested_token_types_supported: [idJagTokenType],
      authorization_grant_profiles_supported: [idJagProfile],
    });
  });
});
