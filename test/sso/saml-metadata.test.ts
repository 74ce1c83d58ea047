// How a SAML connection learns who its provider is, and what changes of that come to (specification 16.7.9, 16.7.10).
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findConnection } from '../../src/db/tables/connections.js';
import { optionProblems } from '../../src/domain/connections/options.js';
import { samlMetadataPass } from '../../src/jobs/saml-metadata.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { Browser } from '../support/browser.js';
import { manage, startManagedService } from '../support/management.js';
import { samlKeys } from '../../src/domain/saml-certificates/saml-certificates.js';
import {
  assertionXml,
  encrypted,
  entityId,
  metadataXml,
  responseXml,
  samlKeyPair,
  sign,
  type SamlKeyPair,
  type Told,
} from '../support/saml-provider.js';
import { answer, beginAt, signedAssertion } from '../support/saml-sign-in.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { codeOf } from '../support/sso.js';

const service = sharedService(startManagedService);
const ctx = contextOf(service);
const day = 86_400_000;
let keys: SamlKeyPair[];
let host: Server;
let url: string;
let served: string;
let readings = 0;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  keys = [await samlKeyPair(), await samlKeyPair()];
  host = createServer((_req, res) => {
    readings += 1;
    res.end(served);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => host.once('listening', resolve));
  url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/metadata`;
});
afterAll(() => new Promise((resolve) => host.close(resolve)));

const certificate = (index: number) => keys[index]?.certificate ?? '';
let count = 0;
const body = (options: Record<string, unknown>, attributes: Record<string, unknown> = {}) => ({
  data: {
    type: 'connection',
    attributes: {
      name: `saml-${count++}`,
      display_name: 'Corporation',
      strategy: 'saml',
      account_linking: 'verified_email',
      options,
      ...attributes,
    },
  },
});
const make = (options: Record<string, unknown>, attributes: Record<string, unknown> = {}) =>
  api.post('/connections', body(options, attributes));
const byHand = () => ({ idp_entity_id: entityId, idp_sso_url: 'https://provider.example/sso', idp_certificates: [certificate(0)] });

describe('what is saved', () => {
  test('metadata of comments without an end holds up nobody else (attack 71.1961)', async () => {
    const { status, ms } = await costOf(async () => (await make({ idp_metadata_xml: '<!--'.repeat(60_000) })).status);
    expect(status).toBe(422);
    expect(ms).toBeLessThan(mostHeld);
  });

  test('metadata of hundreds of certificates hold up nobody else, when they are saved and at each sign-in (attack 71.1963)', async () => {
    const more = `<ds:X509Certificate>${certificate(0).replaceAll(/-----[^-]+-----/g, '')}</ds:X509Certificate>`.repeat(200);
    const idp_metadata_xml = metadataXml([certificate(0)]).replace('</ds:X509Data>', `${more}</ds:X509Data>`);
    const saved = await costOf(async () => (await make({ idp_metadata_xml })).status);
    expect(saved.status).toBe(201);
    expect(saved.ms).toBeLessThan(mostHeld);
    const { body: made } = await make({ idp_metadata_xml });
    const id = (made as { data: { id: string } }).data.id;
    const begun = await costOf(async () => (await new Browser(service.url).get(`/auth/sso/${id}`)).status);
    expect(begun.status).toBe(303);
    expect(begun.ms).toBeLessThan(mostHeld);
  });

  test.each([
    ['nothing', () => ({}), 'required'],
    ['two ways at once', () => ({ ...byHand(), idp_metadata_url: 'https://provider.example/metadata' }), 'invalid_value'],
    ['half of it', () => ({ idp_entity_id: entityId }), 'required'],
    ['no certificate', () => ({ ...byHand(), idp_certificates: ['no'] }), 'invalid_value'],
    ['five certificates', () => ({ ...byHand(), idp_certificates: Array(5).fill(certificate(0)) }), 'invalid_type'],
    ['metadata that is none', () => ({ idp_metadata_xml: '<x/>' }), 'invalid_value'],
    [
      'metadata with a document type',
      () => ({ idp_metadata_xml: `<!DOCTYPE x [<!ENTITY y "z">]>${metadataXml([certificate(0)])}` }),
      'invalid_value',
    ],
    ['metadata without a certificate', () => ({ idp_metadata_xml: metadataXml([]) }), 'invalid_value'],
    ['an address that leads nowhere', () => ({ idp_metadata_url: 'file:///etc/passwd' }), 'url_scheme'],
    ['a part that isn’t one', () => ({ ...byHand(), signed_part: 'none' }), 'invalid_type'],
  ])('%s is refused (specification 16.7.1)', async (_name, options, code) => {
    const refused = await make(options());
    expect([refused.status, refused.body['errors'][0].code]).toEqual([422, code]);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'https:provider.example', 'https://a@provider.example/sso'])(
    'metadata that sends browsers to %s is refused (attack 44.1492)',
    async (sso_url) => {
      const refused = await make({ idp_metadata_xml: metadataXml([certificate(0)], { sso_url }) });
      expect([refused.status, refused.body['errors']?.[0].code]).toEqual([422, 'invalid_value']);
    },
  );

  test.each([
    [false, 'http://provider.example/sso', ['invalid_value']],
    [false, 'https://10.0.0.8/sso', []],
    [true, 'http://127.0.0.1:8080/sso', []],
  ])('with ALLOW_PRIVATE_NETWORK %s metadata that sends people to %s: %j (specification 16.7.1)', (allowPrivateNetwork, sso_url, codes) => {
    const options = { idp_metadata_xml: metadataXml([certificate(0)], { sso_url }) };
    const problems = optionProblems({ strategy: 'saml', options }, { allowPrivateNetwork });
    expect(problems.map(({ code }) => code)).toEqual(codes);
  });

  test('a client id is refused, and needed by the other strategies (specification 16.7.1)', async () => {
    const given = await make(byHand(), { provider_client_id: 'one' });
    expect([given.status, given.body['errors'][0].source.pointer]).toEqual([422, '/data/attributes/provider_client_id']);
    const missing = await make({}, { strategy: 'google', provider_client_secret: 'secret' });
    expect([missing.status, missing.body['errors'][0].code]).toEqual([422, 'required']);
  });

  test('keys or another provider by somebody who may only write connections void the links, and it speaks for nobody any more (attack 44.1386)', async () => {
    const { id } = (await make(byHand(), { account_linking: 'ask', domains: ['narrow.example'] })).body['data'];
    const narrow = await manage(service.url, 'connections:read connections:write');
    const options = { ...byHand(), idp_certificates: [certificate(1)] };
    const changed = await narrow.update('connections', id, { options });
    expect([changed.status, changed.body['data']?.attributes]).toMatchObject([200, { generation: 2, domains: [], trusted: false }]);
  });

  test('it shows our entity ID and where responses go (specification 16.7.2)', async () => {
    const { id, attributes } = (await make(byHand())).body['data'];
    expect(attributes).toMatchObject({
      callback_url: `${service.url}/auth/sso/${id}/callback`,
      metadata_url: `${service.url}/auth/sso/${id}/metadata`,
      generation: 1,
    });
    const options = { ...byHand(), idp_certificates: [certificate(0), certificate(1)] };
    const changed = await api.update('connections', id, { options });
    expect(changed.body['data'].attributes.generation).toBe(2);
    const plain = await api.update('connections', id, { options: { ...options, force_authn: true } });
    expect(plain.body['data'].attributes.generation).toBe(2);
  });
});

/** Signs in at the connection by a response that the key signed. @returns `signed in`, or the code of the refusal */
async function signInAt(
  id: string,
  pair: SamlKeyPair | undefined,
  made: (told: Told, key: SamlKeyPair) => string | Promise<string> = signedAssertion,
): Promise<string> {
  if (!pair) throw new Error('no key');
  const connection = await findConnection(ctx.scope, id);
  if (!connection) throw new Error('no connection');
  const browser = new Browser(service.url);
  const { request, told } = await beginAt(ctx, browser, connection);
  const response = await answer(browser, connection, await made(told, pair), request.relay_state);
  return response.status === 303 ? 'signed in' : codeOf(response);
}

test('metadata is read when it is needed and daily: certificates join and go, another provider waits (attack 44.1387)', async () => {
  served = metadataXml([certificate(0)]);
  const { id } = (await make({ idp_metadata_url: url, trust_email: true }, { domains: ['corp.example'] })).body['data'];
  const signIn = (pair: SamlKeyPair | undefined) => signInAt(id, pair);
  expect([await signIn(keys[0]), await signIn(keys[1])]).toEqual(['signed in', 'saml_invalid']);

  served = metadataXml([certificate(0), certificate(1)]);
  expect(await samlMetadataPass(service.deps)).toBe(0);
  service.clock.advance(day + 1000);
  expect(await samlMetadataPass(service.deps)).toBe(1);
  expect([await signIn(keys[0]), await signIn(keys[1])]).toEqual(['signed in', 'signed in']);

  served = metadataXml([certificate(1)]);
  service.clock.advance(day + 1000);
  await samlMetadataPass(service.deps);
  expect([await signIn(keys[0]), await signIn(keys[1])]).toEqual(['saml_invalid', 'signed in']);

  served = metadataXml([certificate(0)], { entity_id: 'https://evil.example' });
  service.clock.advance(day + 1000);
  await samlMetadataPass(service.deps);
  expect([await signIn(keys[0]), await signIn(keys[1])]).toEqual(['saml_invalid', 'signed in']);

  served = 'gone';
  service.clock.advance(day + 1000);
  await samlMetadataPass(service.deps);
  expect(await signIn(keys[1])).toBe('signed in');

  served = metadataXml([certificate(0)], { sso_url: 'https://moved.example/sso' });
  service.clock.advance(day + 1000);
  await samlMetadataPass(service.deps);
  // The token has expired meanwhile.
  const later = await manage(service.url);
  const accepted = await later.patch(`/connections/${id}/accept_metadata`);
  expect([accepted.status, accepted.body['data']?.attributes.generation]).toEqual([200, 2]);
  expect((await later.patch(`/connections/${id}/accept_metadata`)).status).toBe(409);
  const connection = await findConnection(ctx.scope, id);
  const sent = connection && (await new Browser(service.url).get(`/auth/sso/${id}`));
  expect(new URL(sent?.headers.get('location') ?? '').host).toBe('moved.example');
  expect((await later.delete(`/connections/${id}`)).status).toBe(204);
});

describe('a provider that changes its key unannounced', () => {
  const tenMinutes = 600_000;
  let id: string;
  const known = async () => {
    served = metadataXml([certificate(0)]);
    id = (
      await (
        await manage(service.url)
      ).post('/connections', body({ idp_metadata_url: url, trust_email: true }, { domains: ['corp.example'] }))
    ).body['data'].id;
    expect(await signInAt(id, keys[0])).toBe('signed in');
    readings = 0;
  };
  afterEach(async () => expect((await (await manage(service.url)).delete(`/connections/${id}`)).status).toBe(204));

  test('signs people in with the first response by it, and the key before counts no more (specification 16.7.10)', async () => {
    await known();
    served = metadataXml([certificate(1)]);
    expect([await signInAt(id, keys[1]), readings]).toEqual(['saml_invalid', 0]);
    service.clock.advance(tenMinutes + 1000);
    expect([await signInAt(id, keys[1]), readings]).toEqual(['signed in', 1]);
    expect([await signInAt(id, keys[0]), await signInAt(id, keys[1]), readings]).toEqual(['saml_invalid', 'signed in', 1]);
  });

  test('does so with encrypted assertions too (specification 16.7.5, 16.7.10)', async () => {
    await known();
    const { primary } = await samlKeys(ctx);
    const sealed = async (told: Told, key: SamlKeyPair) =>
      responseXml(told, await encrypted(sign(assertionXml(told), 'Assertion', key), primary.pem));
    served = metadataXml([certificate(1)]);
    service.clock.advance(tenMinutes + 1000);
    expect([await signInAt(id, keys[1], sealed), readings]).toEqual(['signed in', 1]);
  });

  test('is asked once in ten minutes, however many bring what nobody signed (attack 43.1601)', async () => {
    await known();
    service.clock.advance(tenMinutes + 1000);
    const brought = await Promise.all(Array.from({ length: 5 }, () => signInAt(id, keys[1])));
    expect([new Set(brought), readings]).toEqual([new Set(['saml_invalid']), 1]);
    expect([await signInAt(id, keys[1]), readings]).toEqual(['saml_invalid', 1]);
    service.clock.advance(tenMinutes + 1000);
    expect([await signInAt(id, keys[1]), await signInAt(id, keys[0]), readings]).toEqual(['saml_invalid', 'signed in', 2]);
  });

  test.each([
    ['another entity ID', () => metadataXml([certificate(1)], { entity_id: 'https://evil.example' })],
    ['another host', () => metadataXml([certificate(1)], { sso_url: 'https://evil.example/sso' })],
    ['nothing that can be read', () => 'gone'],
  ])('counts as before while its metadata says %s (attack 43.1602)', async (_case, says) => {
    await known();
    served = says();
    service.clock.advance(tenMinutes + 1000);
    expect([await signInAt(id, keys[1]), await signInAt(id, keys[0]), readings]).toEqual(['saml_invalid', 'signed in', 1]);
  });
});

test('there is one copy of the parser, and no older one of what verifies (specification 16.7.4)', async () => {
  const found = (await readdir('node_modules', { recursive: true })).filter((path) =>
    /(^|\/)(?<!@types\/)(@xmldom\/xmldom|xml-crypto|xml-encryption)$/.test(path),
  );
  expect(found.sort()).toEqual(['@xmldom/xmldom', 'xml-crypto', 'xml-encryption']);
});
