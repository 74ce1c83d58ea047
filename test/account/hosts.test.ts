// What a host is for: a domain answers; passkeys, tokens of its `iss`, and requests to other hosts take more than that.
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { addTwoStepUser, givePasskey, halfSignedIn, refusalOf, setEnvironment } from '../support/factors.js';
import { Fapi2Client } from '../support/fapi2.js';
import { fromAddress, type PlainAnswer } from '../support/from-address.js';
import { lastMailTo } from '../support/mailbox.js';
import { manage, managementClient, startManagedService, type Api, type Document } from '../support/management.js';
import { oauthPost } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey } from '../support/signed-jwt.js';
import { SoftwareAuthenticator } from '../support/software-authenticator.js';

const records = new Map<string, string[]>();
const service = sharedService(() => startManagedService({}, { overrides: { txtLookup: async (name) => records.get(name) ?? [] } }));
let api: Api;
let narrow: Api;
let administrator: UserRow;
const side = 'login.side.example';

/** Adds the domain as whoever holds nothing else, and puts the record into its zone. */
async function added(domain: string): Promise<string> {
  const made = await narrow.create('custom_domains', { domain });
  const [record] = made['attributes'].verification_records as { name: string; value: string }[];
  records.set(record?.name ?? '', [record?.value ?? '']);
  return made['id'] as string;
}
async function verified(domain: string): Promise<string> {
  const id = await added(domain);
  expect((await api.patch(`/custom_domains/${id}/verify`)).body['data'].attributes.status).toBe('verified');
  return id;
}
const change = (by: Api, id: string, attributes: Document) => by.update('custom_domains', id, attributes);
const codeOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0].code];
const relatedOrigins = async () => ((await (await fetch(`${service.url}/.well-known/webauthn`)).json()) as { origins: string[] }).origins;

let sideId: string;
beforeAll(async () => {
  api = await manage(service.url);
  narrow = await manage(service.url, 'custom_domains:read custom_domains:write');
  const ctx = await service.context();
  administrator = await addUser(ctx);
  await addUserRoles(ctx.scope, administrator.id, [(await findRoleByName(ctx.scope, 'administrator'))?.id ?? '']);
  sideId = await verified(side);
});

describe('answering', () => {
  test('a domain becomes verified by a holder of everything alone, and all of them get mail (attack 22.930)', async () => {
    const id = await added('login.narrow.example');
    expect(codeOf(await narrow.patch(`/custom_domains/${id}/verify`))).toEqual([403, 'scope_escalation']);
    expect((await narrow.get(`/custom_domains/${id}`)).body['data'].attributes.status).toBe('pending');
    expect((await api.patch(`/custom_domains/${id}/verify`)).status).toBe(200);
    const mail = await lastMailTo(service.url, administrator.email);
    expect([mail.subject, mail.text.includes('login dot narrow dot example')]).toEqual([
      'Default can now be reached at another domain',
      true,
    ]);
    expect(codeOf(await narrow.delete(`/custom_domains/${id}`))).toEqual([403, 'scope_escalation']);
    expect((await api.delete(`/custom_domains/${id}`)).status).toBe(204);
  });

  test('one that waits is nothing yet: whoever added it takes it away again', async () => {
    const id = await added('login.waiting.example');
    expect((await narrow.delete(`/custom_domains/${id}`)).status).toBe(204);
  });

  test('as Origin at another host, a verified domain is another site: profile, sessions, sign-in, second steps (attack 22.931)', async () => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const { user: careful } = await addTwoStepUser(service);
    const browser = await signedIn(service, user);
    const half = await halfSignedIn(service, careful);
    const from = { origin: `https://${side}` };
    const refused = [
      await browser.postJson('/account/profile', { first_name: 'Mallory' }, from),
      await browser.postJson('/account/sessions/revoke_others', {}, from),
      await browser.postJson('/account/authenticators/totp', { name: 'Phone' }, from),
      await new Browser(service.url).postJson('/login', { email: user.email, password }, from),
      await new Browser(service.url).postJson('/login/passkey/options', {}, from),
      await half.postJson('/login/verify', { method: 'totp', code: '123456' }, from),
    ];
    for (const answer of refused) expect(await refusalOf(answer)).toEqual([403, 'csrf_failed']);
    // Its own host's Origin is what the same requests are taken with.
    const own = { origin: service.url };
    expect((await browser.postJson('/account/profile', { first_name: 'Ada' }, own)).status).toBe(200);
    expect((await new Browser(service.url).postJson('/login', { email: user.email, password }, own)).status).toBe(200);
    expect((await refusalOf(await half.postJson('/login/verify', { method: 'totp', code: '123456' }, own)))[0]).not.toBe(403);
  });

  test('at its own host a domain takes its own Origin, and none of the others', async () => {
    const { email } = await addUser(await service.context());
    const login = (origin: string) => atHost(side, '/login', { email, password }, { origin });
    expect((await login(`https://${side}`)).status).toBe(200);
    for (const origin of [service.url, `http://${side}`, 'https://evil.example'])
      expect([origin, (await login(origin)).status]).toEqual([origin, 403]);
  });
});

function atHost(host: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<PlainAnswer> {
  return fromAddress('127.0.0.1', service.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', host, ...headers },
  });
}

describe('passkeys', () => {
  /** A passkey that is touched at a page of the host, and what becomes of it. */
  async function touchedAt(host: string, authenticator: SoftwareAuthenticator): Promise<PlainAnswer> {
    const options = await atHost(host, '/login/passkey/options', {});
    const cookie = (options.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ');
    const credential = authenticator.get(JSON.parse(options.text), { origin: `https://${host}` });
    return atHost(host, '/login/passkey', { credential }, { cookie, origin: `https://${host}` });
  }
  async function somebody(): Promise<SoftwareAuthenticator> {
    const authenticator = new SoftwareAuthenticator();
    await givePasskey(service, await addUser(await service.context()), authenticator);
    return authenticator;
  }

  test('a verified domain is no origin of them: not listed, and one that is touched there is no session (attack 25.932)', async () => {
    expect(await relatedOrigins()).toEqual([service.url]);
    const answer = await touchedAt(side, await somebody());
    expect([answer.status, (JSON.parse(answer.text) as { error: string }).error]).toEqual([401, 'passkey_refused']);
    const page = await fromAddress('127.0.0.1', `${service.url}/login`, { headers: { host: side } });
    expect(page.text).toContain('data-passkey-elsewhere=only');
  });

  test('a holder of everything chooses it: then it is listed, and they are good there', async () => {
    expect(codeOf(await change(narrow, sideId, { accepts_passkeys: true }))).toEqual([403, 'scope_escalation']);
    expect((await change(api, sideId, { accepts_passkeys: true })).body['data'].attributes.accepts_passkeys).toBe(true);
    expect(await relatedOrigins()).toEqual([service.url, `https://${side}`]);
    expect((await touchedAt(side, await somebody())).status).toBe(200);
    expect((await change(api, sideId, { accepts_passkeys: false })).status).toBe(200);
    expect((await touchedAt(side, await somebody())).status).toBe(401);
  });

  test('their domain, and the primary one, are not deleted before another takes their place (attack 22.933)', async () => {
    const id = await verified('keys.example');
    const waiting = await added('waiting.example');
    expect(codeOf(await change(api, waiting, { accepts_passkeys: true }))).toEqual([409, 'invalid_transition']);
    await setEnvironment(service, { passkey_rp_id: 'keys.example' });
    expect(await relatedOrigins()).toEqual([service.url, 'https://keys.example']);
    expect(codeOf(await api.delete(`/custom_domains/${id}`))).toEqual([409, 'domain_in_use']);
    const below = await verified('login.keys.example');
    await change(api, below, { accepts_passkeys: true });
    expect(codeOf(await api.delete(`/custom_domains/${below}`))).toEqual([409, 'domain_in_use']);
    await change(api, below, { accepts_passkeys: false });
    await setEnvironment(service, { passkey_rp_id: null });
    await change(api, id, { is_primary: true });
    const refused = await api.delete(`/custom_domains/${id}`);
    expect(codeOf(refused)).toEqual([409, 'domain_in_use']);
    expect(refused.body['errors'][0].detail).toContain('make another one primary first');
    await change(api, id, { is_primary: false });
    for (const one of [id, below, waiting]) expect((await api.delete(`/custom_domains/${one}`)).status).toBe(204);
  });
});

describe('issuing', () => {
  const introspected = async (token: string | null) => {
    const client = await addClient(await service.context(), { introspection_allowed: true });
    return (await oauthPost(service.url, '/oauth/introspect', client, { token: token ?? '' })).body['active'];
  };
  const asBase = async () => ((await api.get('/environments?filter[slug]=default')).body['data'][0] as Document)['attributes'];

  test('tokens of an earlier issuer are taken until the last of them has expired, or until the date that is set (attack 8.934)', async () => {
    const id = await verified('issuer.example');
    const before = (await manage(service.url)).token;
    expect((await asBase()).base_url_issuer_until).toBeNull();
    const started = service.clock.now().getTime();
    await change(api, id, { is_primary: true });
    const until = new Date((await asBase()).base_url_issuer_until as string).getTime();
    expect(Math.round((until - started) / 60_000)).toBe(60);
    expect(await introspected(before)).toBe(true);
    const environment = await asBase();
    const shorten = {
      data: { type: 'environment', id: (await service.context()).environment.id, attributes: { base_url_issuer_until: null } },
    };
    expect(environment['issuer']).toBe('https://issuer.example');
    api = await manage(service.url);
    expect((await api.patch(`/environments/${shorten.data.id}`, shorten)).status).toBe(200);
    expect(await introspected(before)).toBe(false);

    const during = api.token;
    const back = await change(api, id, { is_primary: false });
    expect(new Date(back.body['data'].attributes.issuer_until as string).getTime()).toBeGreaterThan(started);
    expect(await introspected(during)).toBe(true);
    api = await manage(service.url);
    expect(codeOf(await change(await manage(service.url, 'custom_domains:read custom_domains:write'), id, { issuer_until: null }))).toEqual(
      [403, 'scope_escalation'],
    );
    const soon = new Date(service.clock.now().getTime() + 30_000).toISOString();
    expect((await change(api, id, { issuer_until: soon })).body['data'].attributes.issuer_until).toBe(soon);
    expect(await introspected(during)).toBe(true);
    service.clock.advance(31_000);
    expect(await introspected(during)).toBe(false);
    expect(await introspected(api.token)).toBe(true);
    expect((await api.delete(`/custom_domains/${id}`)).status).toBe(204);
  });

  test('assertions for another host of ours are refused: its own address alone takes what was made for it (attack 32.935)', async () => {
    const key = await createClientKey();
    const jwks = { keys: [key.jwk] };
    const client = await addClient(await service.context(), { token_endpoint_auth_method: 'private_key_jwt', jwks });
    const now = () => Math.floor(service.clock.now().getTime() / 1000);
    const asserted = async (aud: unknown, host = new URL(service.url).host) => {
      const claims = { iss: client.id, sub: client.id, aud, jti: crypto.randomUUID(), exp: now() + 60 };
      const body = {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await key.sign(claims),
        token: 'none',
      };
      const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
      return (
        await fromAddress('127.0.0.1', `${service.url}/oauth/introspect`, {
          method: 'POST',
          body: new URLSearchParams(body).toString(),
          headers,
        })
      ).status;
    };
    expect(await asserted(service.url)).toBe(200);
    expect(await asserted(`${service.url}/oauth/token`)).toBe(200);
    for (const aud of [`https://${side}`, `https://${side}/oauth/token`, [`https://${side}`]])
      expect([aud, await asserted(aud)]).toEqual([aud, 401]);
    expect(await asserted(`https://${side}/oauth/token`, side)).toBe(200);
    expect(await asserted(service.url, side)).toBe(200);
    expect(await asserted(`https://${side}`, side)).toBe(401);

    const bank = await Fapi2Client.add(service);
    const { fields } = bank.request();
    const pushed = await bank.push(fields, { proof: null, assertion: await bank.assertion({ aud: `https://${side}` }) });
    expect([pushed.status, pushed.body['error']]).toEqual([401, 'invalid_client']);
    const object = await bank.key.sign({
      ...fields,
      client_id: bank.client.id,
      iss: bank.client.id,
      aud: `https://${side}`,
      nbf: now(),
      exp: now() + 60,
    });
    const refused = await bank.push({ request: object });
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_request_object']);
  });

  test('a DPoP proof for another host of ours is refused (attack 27.936)', async () => {
    const key = await createProofKey('ES256', () => service.clock.now().getTime());
    const client = managementClient;
    const presented = async (htu: string, host = new URL(service.url).host) => {
      const dpop = await key.proof({ htu });
      const basic = `Basic ${Buffer.from(`${client.id}:${client.client_secret}`).toString('base64')}`;
      const headers = { host, dpop, authorization: basic, 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await fromAddress('127.0.0.1', `${service.url}/oauth/token`, {
        method: 'POST',
        body: `grant_type=client_credentials&resource=${service.url}/api`,
        headers,
      });
      return (JSON.parse(answer.text) as { error?: string }).error;
    };
    const elsewhere = `https://${side}/oauth/token`;
    expect(await presented(elsewhere)).toBe('invalid_dpop_proof');
    expect(await presented(elsewhere, side)).toBeUndefined();
    expect(await presented(`${service.url}/oauth/token`, side)).toBeUndefined();
    expect(await presented(`${service.url}/oauth/token`)).toBeUndefined();
  });
});
