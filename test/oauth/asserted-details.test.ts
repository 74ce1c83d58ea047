// Authorization details (RFC 9396) in identity assertions (ID-JAG): which are issued, and what is left of them where they are redeemed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { updateDetailType, type AuthorizationDetailTypeRow } from '../../src/db/tables/authorization_detail_types.js';
import { jwtBearerGrantType, jwtDpopGrantType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { idJagTyp } from '../../src/lib/identity-assertions.js';
import {
  addOutboundGrant, apiIdentifier, askForAssertion, bring, changed, postToB, refreshTokenType, scripted, sharedAssertionWorld, signInToApp,
} from '../support/assertions.js'; // prettier-ignore
import { accounts, addType, paymentFields, paymentSentence } from '../support/authorization-details.js';
import { addClient, addGrant, addResource } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { claimsOf, type TokenAnswer } from '../support/oauth.js';
import { addOrganization } from '../support/organizations.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
const world = sharedAssertionWorld(service);
afterAll(() => world.issuer.close());

const json = JSON.stringify;
const opaque = 'https://opaque.example/';
const payment = { type: 'payment', amount: { currency: 'EUR', amount: '123.50' }, payee: 'Muster GmbH' };
const archive = { type: 'archive', accounts: ['DE01', 'DE02'] };
const lessPaid = { ...payment, amount: { currency: 'EUR', amount: '7' } };
const refusal = ({ status, body }: TokenAnswer) => [status, body.error];
const refused = [400, 'invalid_authorization_details'];
let archives: AuthorizationDetailTypeRow;

beforeAll(async () => {
  const { b, client, api } = world;
  await addType(b, api, 'payment', { fields: paymentFields, sentence: paymentSentence });
  archives = await addType(b, api, 'archive', { fields: [accounts], sentence: { en: 'Read statements of {accounts}' } });
  await addType(b, await addResource(b), 'errand', { fields: [accounts], sentence: { en: 'Go to {accounts}' } });
  const second = await addResource(b, { identifier: opaque, token_format: 'opaque', assertion_access: 'granted' });
  await addType(b, second, 'note', { fields: [accounts], sentence: { en: 'Write to {accounts}' } });
  await addGrant(b, client, second, ['read'], 'user', { assertions: true });
  const authorization_details_types = ['payment', 'archive', 'errand', 'note'];
  await changed(b, 'clients', { id: client.id }, { authorization_details_types });
  await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { authorization_details_types: ['payment', 'archive'] });
});

describe('an assertion', () => {
  test.each(['id', 'refresh'])('by %s token says the details that were asked for, and the token there has them', async (by) => {
    const { id_token, refresh_token } = await signInToApp(service, world);
    const subject = by === 'id' ? { subject_token: id_token } : { subject_token: refresh_token, subject_token_type: refreshTokenType };
    const issued = await askForAssertion(service, world, { ...subject, authorization_details: json([payment, archive]) });
    expect(issued.body).toMatchObject({ token_type: 'N_A', authorization_details: [payment, archive] });
    const assertion = issued.body.access_token;
    expect(claimsOf(assertion)['authorization_details']).toEqual([payment, archive]);
    const [trace] = (await auditRows(service, 'assertion.issued')).slice(-1);
    expect(trace?.['changes']).toMatchObject({ authorization_details: [null, [payment, archive]] });
    const { body } = await bring(service, world, assertion);
    expect(body).toMatchObject({ authorization_details: [payment, archive] });
    expect(claimsOf(body.access_token)['authorization_details']).toEqual([payment, archive]);
  });

  test('without the parameter has none', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const { body } = await askForAssertion(service, world, { subject_token });
    expect(claimsOf(body.access_token)).not.toHaveProperty('authorization_details');
    expect(body).not.toHaveProperty('authorization_details');
    expect((await bring(service, world, body.access_token)).body).not.toHaveProperty('authorization_details');
  });

  test('is refused with what is malformed, or of a type that no grant for this person and resource lets through (attack 65.1890)', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const ask = async (details: unknown) => {
      const authorization_details = typeof details === 'string' ? details : json(details);
      return refusal(await askForAssertion(service, world, { subject_token, authorization_details }));
    };
    const deep = { type: 'payment', a: [{ b: [{ c: [[]] }] }] };
    const malformed = ['no json', {}, [], [7], [{ typ: 'payment' }], [{ type: ['payment'] }], [deep], Array(11).fill(payment)];
    for (const details of malformed) expect(await ask(details)).toEqual(refused);
    const row = { client_id: world.app.id, external_server_id: world.server.id, external_client_id: world.client.id };
    await addOutboundGrant(world.a, { ...row, authorization_details_types: ['transfer'], resources: ['https://second.example'] });
    await addOutboundGrant(world.a, { ...row, authorization_details_types: ['transfer'], organization_id: (await addOrganization(world.a)).id }); // prettier-ignore
    await addOutboundGrant(world.a, { ...row, authorization_details_types: ['transfer'], required_acr: '2' });
    await addOutboundGrant(world.a, { ...row, authorization_details_types: ['transfer'], external_client_id: 'other' });
    await addOutboundGrant(world.a, { ...row, authorization_details_types: ['transfer'], status: 'disabled' });
    for (const type of ['transfer', 'Payment', 'payment ', '__proto__', 'constructor']) expect(await ask([payment, { type }])).toEqual(refused); // prettier-ignore
    expect(await lastRow(service, 'assertion.refused')).toMatchObject({ reason: 'assertion_scope', target_id: world.server.id });
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { authorization_details_types: [] });
    expect(await ask([payment])).toEqual(refused);
    await changed(world.a, 'outbound_grants', { id: world.outbound.id }, { authorization_details_types: ['payment', 'archive'] });
  });

  test('is refused with what no database keeps, or what says another thing once it is signed (attack 65.1893)', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const member = (text: string) => `[{"type":"payment",${text}}]`;
    for (const text of [
      String.raw`"a":"\u0000"`,
      String.raw`"a\u0000":1`,
      String.raw`"a":["\ud800"]`,
      '"a":1e999',
      '"__proto__":{"a":1}',
    ]) {
      const answer = await askForAssertion(service, world, { subject_token, authorization_details: member(text) });
      expect([text, ...refusal(answer)]).toEqual([text, ...refused]);
    }
    const { status } = await askForAssertion(service, world, { subject_token, authorization_details: member(String.raw`"a":"\\u0000 \ud83d\ude00"`) }); // prettier-ignore
    expect(status).toBe(200);
  });

  test('says what such a type’s object says, whatever that is: the server outside knows its fields', async () => {
    const { id_token: subject_token } = await signInToApp(service, world);
    const odd = [{ type: 'payment', amount: { currency: 'EUR', amount: '501' }, more: null }];
    const { body } = await askForAssertion(service, world, { subject_token, authorization_details: json(odd) });
    expect(claimsOf(body.access_token)['authorization_details']).toEqual(odd);
    expect(refusal(await bring(service, world, body.access_token))).toEqual(refused);
  });
});

describe('redeeming one', () => {
  const redeem = async (authorization_details: unknown, fields: Record<string, string> = {}) =>
    bring(service, world, await scripted(world, { authorization_details }), fields);
  const introspect = (token: string) => postToB(service, world, '/oauth/introspect', world.client, { token });

  test('gives a JWT and an opaque token its details, which introspection tells', async () => {
    const jwt = await redeem([payment]);
    expect(claimsOf(jwt.body.access_token)['authorization_details']).toEqual([payment]);
    const note = { type: 'note', accounts: ['DE01'] };
    const hidden = await bring(service, world, await scripted(world, { resource: opaque, authorization_details: [note] }));
    expect(hidden.body).toMatchObject({ authorization_details: [note] });
    expect((await introspect(jwt.body.access_token)).body).toMatchObject({ active: true, authorization_details: [payment] });
    expect((await introspect(hidden.body.access_token)).body).toMatchObject({ active: true, authorization_details: [note] });
    expect((await lastRow(service, 'assertion.redeemed'))?.['changes']).toMatchObject({ authorization_details: [null, [note]] });
  });

  test('narrows them by the request', async () => {
    const fewer = { type: 'archive', accounts: ['DE02'] };
    const { body } = await redeem([payment, archive], { authorization_details: json([fewer, lessPaid]) });
    expect(body).toMatchObject({ authorization_details: [fewer, lessPaid] });
    expect(claimsOf(body.access_token)['authorization_details']).toEqual([fewer, lessPaid]);
    const client = await addClient(world.b, { grant_types: [jwtDpopGrantType], authorization_details_types: ['payment'] });
    await addGrant(world.b, client, world.api, ['read'], 'user', { assertions: true });
    const key = await createProofKey();
    const dpop = await key.proof({ htu: `${world.b.environment.issuer}/oauth/token` });
    const mine = await scripted(world, { client_id: client.id, cnf: { jkt: key.jkt }, authorization_details: [payment] });
    const fields = { grant_type: jwtDpopGrantType, authorization_details: json([lessPaid]) };
    expect((await bring(service, world, mine, fields, { client, dpop })).body).toMatchObject({ authorization_details: [lessPaid] });
  });

  test('never widens them, and a request that tries spends nothing (attack 65.1891)', async () => {
    const assertion = await scripted(world, { authorization_details: [lessPaid] });
    for (const more of [[payment], [lessPaid, lessPaid], [archive], [{ ...lessPaid, on: '2026-11-28' }], 'no list'])
      expect(refusal(await bring(service, world, assertion, { authorization_details: json(more) }))).toEqual(refused);
    expect((await bring(service, world, assertion)).body).toMatchObject({ authorization_details: [lessPaid] });
    expect(refusal(await redeem(undefined, { authorization_details: json([payment]) }))).toEqual(refused);
  });

  test('takes them of enabled types of the one API that the client may ask for, in their bounds; others are refused with a trace (attack 65.1892)', async () => {
    const bad: unknown[] = [
      null, {}, [], 'payment', [null], [{ amount: 1 }], Array(11).fill(lessPaid),
      [{ type: 'errand', accounts: ['x'] }], [{ type: 'note', accounts: ['x'] }], [{ type: 'unknown' }], [{ type: '__proto__' }],
      [{ ...payment, more: 1 }], [{ type: 'payment', payee: 'x' }], [{ ...payment, amount: { currency: 'EUR', amount: '501' } }],
      [{ ...payment, amount: { currency: 'USD', amount: '5' } }], [{ ...payment, payee: 'in\u202evisible' }], [payment, { ...archive, accounts: [] }],
    ]; // prettier-ignore
    for (const details of bad) expect([details, ...refusal(await redeem(details))]).toEqual([details, ...refused]);
    expect(await lastRow(service, 'assertion.refused')).toMatchObject({ reason: 'assertion_scope', target_id: world.theirs.id });
    await updateDetailType(world.b.scope, archives.id, { status: 'disabled' });
    world.b.cache.invalidate(world.b.environment.id, 'api_resources');
    expect(refusal(await redeem([archive]))).toEqual(refused);
    await updateDetailType(world.b.scope, archives.id, { status: 'enabled' });
    world.b.cache.invalidate(world.b.environment.id, 'api_resources');
    await changed(world.b, 'clients', { id: world.client.id }, { authorization_details_types: ['payment'] });
    expect(refusal(await redeem([archive]))).toEqual(refused);
    await changed(world.b, 'clients', { id: world.client.id }, { authorization_details_types: ['payment', 'archive', 'errand', 'note'] });
    expect((await redeem([archive])).status).toBe(200);
  });

  test('refuses what is nested deeper than a process can write (attack 65.1894)', async () => {
    const deep = '['.repeat(5_500) + ']'.repeat(5_500);
    const claims = JSON.stringify(claimsOf(await scripted(world)));
    const assertion = await world.issuer.key.signText(claims.replace(/}$/, `,"authorization_details":${deep}}`), { typ: idJagTyp });
    expect(assertion.length).toBeLessThan(16_384);
    expect(refusal(await bring(service, world, assertion))).toEqual(refused);
  });

  test('says as little as the type’s own fields, in their order', async () => {
    const { payee, amount, type } = payment;
    const { body } = await redeem([{ payee, amount: { amount: amount.amount, currency: 'EUR' }, type }]);
    expect(Object.keys((body['authorization_details'] as object[])[0] as object).toSorted()).toEqual(['amount', 'payee', 'type']);
  });

  test('a token exchange at the same API keeps them, and no more', async () => {
    const client = await addClient(world.b, { grant_types: [tokenExchangeGrantType, jwtBearerGrantType], authorization_details_types: ['payment'] }); // prettier-ignore
    const policy = { token_exchange: 'delegation' as const, assertions: true, subject_audiences: [apiIdentifier] };
    await addGrant(world.b, client, world.api, ['read'], 'user', policy);
    const assertion = await scripted(world, { client_id: client.id, authorization_details: [lessPaid] });
    const subject_token = (await bring(service, world, assertion, {}, { client })).body.access_token;
    const fields = {
      grant_type: tokenExchangeGrantType,
      subject_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: apiIdentifier,
    };
    const kept = await postToB(service, world, '/oauth/token', client, fields);
    expect(kept.body).toMatchObject({ authorization_details: [lessPaid] });
    const more = { ...fields, authorization_details: json([payment]) };
    expect(refusal(await postToB(service, world, '/oauth/token', client, more))).toEqual(refused);
  });
});
