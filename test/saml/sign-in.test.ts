// Sign-in to SAML applications, with node-saml as the application (specification 16.8).
import { inflateRawSync } from 'node:zlib';
import { ValidateInResponseTo } from '@node-saml/node-saml';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ClientRow } from '../../src/db/tables/clients.js';
import type { RoleRow } from '../../src/db/tables/roles.js';
import { insert, table } from '../../src/db/scope.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { addMembership, addOrganization } from '../support/organizations.js';
import {
  acsUrl,
  addSamlClient,
  applicationOf,
  ask,
  follow,
  postedBy,
  postRequest,
  requestXml,
  sendRequest,
  statusOf,
  takenBy,
} from '../support/saml-application.js';
import { samlKeyPair } from '../support/saml-provider.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { addUserWith, proofsNow, signedIn, signedInBy } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const user = shared(() => addUser(ctx, { email: 'ada@corp.example', email_verified: true, first_name: 'Ada' }));
let browser: Browser & { session_id: string };
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const pem = (key: { export(options: object): string | Buffer }) => key.export({ type: 'pkcs8', format: 'pem' }) as string;

test('somebody who is signed in comes to the application with an assertion that it takes (specification 16.8.4)', async () => {
  const client = await addSamlClient(ctx, { saml_attributes: { mail: 'email', 'urn:oid:2.5.4.42': 'given_name', nick: 'nickname' } });
  const application = await applicationOf(ctx, client);
  const response = await ask(browser, application);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('content-security-policy')).toContain("form-action 'self' https://wiki.example");
  const { action, RelayState, xml } = await postedBy(response.clone());
  expect([action, RelayState]).toEqual([acsUrl, 'st-1']);
  const profile = await takenBy(application, response);
  expect(profile).toMatchObject({ mail: 'ada@corp.example', 'urn:oid:2.5.4.42': 'Ada', issuer: `${service.url}/saml/metadata` });
  expect(profile['nick']).toBeUndefined();
  expect(profile.nameIDFormat).toBe('urn:oasis:names:tc:SAML:2.0:nameid-format:persistent');
  expect(xml).toContain(`<saml:Audience>${client.saml_entity_id}</saml:Audience>`);
  expect(xml.match(/rsa-sha256"/g)).toHaveLength(2);
  const times = [/IssueInstant="([^"]+)"/, /NotOnOrAfter="([^"]+)" Recipient/].map((one) => new Date(one.exec(xml)?.[1] ?? ''));
  expect((times[1]?.getTime() ?? 0) - (times[0]?.getTime() ?? 0)).toBe(300_000);
  const clients = await table<{ session_id: string; client_id: string }>(ctx.scope, 'session_clients').where({
    session_id: browser.session_id,
  });
  expect(clients.map(({ client_id }) => client_id)).toEqual([client.id]);
});

test('the NameID is the same at each sign-in, another at each application, or the address (attack 47.1409)', async () => {
  const [wiki, expenses] = [await addSamlClient(ctx), await addSamlClient(ctx)];
  const nameOf = async (client: ClientRow, by: Browser) => {
    const application = await applicationOf(ctx, client);
    return takenBy(application, await ask(by, application));
  };
  const first = await nameOf(wiki, browser);
  const again = await nameOf(wiki, await signedIn(service, user));
  const elsewhere = await nameOf(expenses, browser);
  expect(first.nameID).toMatch(/^[\w-]{43}$/);
  expect(again.nameID).toBe(first.nameID);
  expect(again.sessionIndex).not.toBe(first.sessionIndex);
  expect(elsewhere.nameID).not.toBe(first.nameID);
  expect(elsewhere.sessionIndex).not.toBe(first.sessionIndex);
  const named = await nameOf(await addSamlClient(ctx, { saml_name_id: 'email' }), browser);
  expect([named.nameID, named.nameIDFormat]).toEqual(['ada@corp.example', 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress']);
});

test('an address that nobody has proven is no NameID, and no attribute (attack 47.1406)', async () => {
  const unproven = await signedIn(service, await addUser(ctx, { email: 'eve@corp.example', email_verified: false }));
  const client = await addSamlClient(ctx, { saml_name_id: 'email' });
  expect(await statusOf(await ask(unproven, await applicationOf(ctx, client)))).toEqual(['Responder', 'RequestDenied']);
  const other = await addSamlClient(ctx, { saml_attributes: { mail: 'email', verified: 'email_verified' } });
  const application = await applicationOf(ctx, other);
  const profile = await takenBy(application, await ask(unproven, application));
  expect([profile['mail'], profile['verified']]).toEqual([undefined, 'false']);
});

describe('how somebody signs in', () => {
  test('a stranger signs in first and then comes to the application (specification 16.8.3)', async () => {
    const client = await addSamlClient(ctx);
    const application = await applicationOf(ctx, client);
    const stranger = new Browser(service.url);
    const asked = await ask(stranger, application);
    const login = asked.headers.get('location') ?? '';
    expect(login).toMatch(/^\/login\?return_to=%2Fsaml%2Fresume/);
    expect(await (await stranger.get(login)).text()).toContain('Acme Wiki');
    const done = await stranger.login(user.email, password, new URL(login, service.url).searchParams.get('return_to') ?? '');
    expect((await takenBy(application, await follow(stranger, done))).nameID).toBeTruthy();
  });

  test('a request that another site posts goes on by GET, where the cookie comes along (specification 16.8.2)', async () => {
    const client = await addSamlClient(ctx);
    const posted = await postRequest(browser, requestXml(client), { RelayState: 'deep/link' });
    expect(posted.status).toBe(303);
    const { RelayState, xml } = await postedBy(await follow(browser, posted));
    expect(RelayState).toBe('deep/link');
    expect(xml.match(/InResponseTo="_r1"/g)).toHaveLength(2);
  });

  test('ForceAuthn asks for a new sign-in (specification 16.8.3)', async () => {
    const client = await addSamlClient(ctx);
    const application = await applicationOf(ctx, client, { forceAuthn: true });
    const asked = await ask(browser, application);
    expect(asked.headers.get('location')).toMatch(/^\/login\?/);
    service.clock.advance(1000);
    const return_to = new URL(asked.headers.get('location') ?? '', service.url).searchParams.get('return_to') ?? '';
    const done = await browser.submit(asked.headers.get('location') ?? '', { email: user.email, password, return_to });
    expect((await takenBy(application, await follow(browser, done))).nameID).toBeTruthy();
  });

  test('IsPassive asks nobody for anything: NoPassive (specification 16.8.3)', async () => {
    const client = await addSamlClient(ctx);
    const application = await applicationOf(ctx, client, { passive: true });
    expect((await takenBy(application, await ask(browser, application))).nameID).toBeTruthy();
    expect(await statusOf(await ask(new Browser(service.url), application))).toEqual(['Responder', 'NoPassive']);
    const both = requestXml(client, { attributes: ' IsPassive="1" ForceAuthn="true"' });
    expect(await statusOf(await sendRequest(browser, both))).toEqual(['Responder', 'NoPassive']);
    const foreign = await addSamlClient(ctx, { first_party: false });
    expect(await statusOf(await ask(browser, await applicationOf(ctx, foreign, { passive: true })))).toEqual(['Responder', 'NoPassive']);
  });

  test('an application that is not first-party is allowed by the person (specification 16.8.3)', async () => {
    const client = await addSamlClient(ctx, { first_party: false, saml_attributes: { mail: 'email' } });
    const application = await applicationOf(ctx, client);
    const answered = async (decision: string) => {
      const html = await (await ask(browser, application)).text();
      const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
      return browser.post('/saml/consent', { _csrf: csrfOf(html), request, decision });
    };
    expect(await statusOf(await answered('deny'))).toEqual(['Responder', 'RequestDenied']);
    expect(await takenBy(application, await answered('allow'))).toMatchObject({ mail: user.email });
    expect(await takenBy(application, await ask(browser, application))).toMatchObject({ mail: user.email });
  });

  test('a class of sign-in that the request or the client demands is reached, or refused (specification 16.8.3)', async () => {
    const client = await addSamlClient(ctx);
    const mfa = 'https://refeds.org/profile/mfa';
    const demanding = (authnContext: string[]) => applicationOf(ctx, client, { authnContext });
    expect(await statusOf(await ask(browser, await demanding(['urn:example:smartcard'])))).toEqual(['Responder', 'NoAuthnContext']);
    const person = await addUserWith(ctx, ['totp']);
    const strong = await signedInBy(service, person, proofsNow(service, 'password', 'totp'));
    expect((await postedBy(await ask(strong, await demanding([mfa])))).xml).toContain(`ClassRef>${mfa}<`);
    const weak = await signedIn(service, person);
    expect((await ask(weak, await demanding([mfa]))).headers.get('location')).toMatch(/^\/login\/verify\?/);
    const guarded = await addSamlClient(ctx, { required_acr: '2' });
    expect((await ask(weak, await applicationOf(ctx, guarded))).headers.get('location')).toMatch(/^\/login\/verify\?/);
  });

  test('a session that has ended, and a person who is blocked, sign in anew (specification 16.8.3)', async () => {
    const application = await applicationOf(ctx, await addSamlClient(ctx));
    await table(ctx.scope, 'sessions').where({ id: browser.session_id }).update({ revoked_at: ctx.clock.now() });
    expect((await ask(browser, application)).headers.get('location')).toMatch(/^\/login\?/);
    const other = await addUser(ctx);
    const blocked = await signedIn(service, other);
    await table(ctx.scope, 'users').where({ id: other.id }).update({ status: 'blocked' });
    expect((await ask(blocked, application)).headers.get('location')).toMatch(/^\/login\?/);
  });
});

describe('requests that have to be signed', () => {
  test('are taken by either binding when they are (specification 16.8.2)', async () => {
    const key = await samlKeyPair();
    const client = await addSamlClient(ctx, { saml_request_certificates: [key.certificate] });
    const signing = {
      privateKey: pem(key.privateKey),
      publicCert: key.certificate,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
    } as const;
    const application = await applicationOf(ctx, client, signing);
    expect((await takenBy(application, await ask(browser, application))).nameID).toBeTruthy();
    const html = await (await applicationOf(ctx, client, { ...signing, skipRequestCompression: true })).getAuthorizeFormAsync('st-2');
    const SAMLRequest = /name="SAMLRequest" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const posted = await postRequest(browser, Buffer.from(SAMLRequest, 'base64').toString(), { RelayState: 'st-2' });
    expect(posted.status).toBe(303);
    expect((await postedBy(await follow(browser, posted))).RelayState).toBe('st-2');
  });
});

describe('organizations', () => {
  async function member(name: string) {
    const organization = await addOrganization(ctx, { display_name: name });
    const stamps = { id: uuidv7(0), created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
    const role = await insert<RoleRow>(ctx.scope, 'roles', {
      ...stamps,
      id: uuidv7(ctx.clock.now().getTime()),
      kind: 'organization',
      name: `editor-${name}`,
    });
    await addMembership(ctx, organization, user, { roles: [role] });
    return organization;
  }

  test('the assertion tells the organization and the roles there (specification 16.8.5)', async () => {
    const acme = await member('Acme');
    const attributes = { tenant: 'org_id', slug: 'org_name', groups: 'roles' };
    const client = await addSamlClient(ctx, { organization_usage: 'require', saml_attributes: attributes });
    const application = await applicationOf(ctx, client);
    const only = await takenBy(application, await ask(browser, application));
    expect(only).toMatchObject({ tenant: acme.id, slug: acme.name, groups: 'editor-Acme' });

    const initech = await member('Initech');
    const other = await signedIn(service, user);
    const html = await (await ask(other, application)).text();
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const chosen = await other.post('/saml/organization', { _csrf: csrfOf(html), request, organization: initech.name });
    expect(await takenBy(application, chosen)).toMatchObject({ tenant: initech.id, groups: 'editor-Initech' });
    // The last one of the session.
    expect(await takenBy(application, await ask(other, application))).toMatchObject({ tenant: initech.id });
    const named = await takenBy(application, await ask(other, application, 'st-1', { organization: acme.name }));
    expect(named).toMatchObject({ tenant: acme.id });
  });

  test('a sign-in URL that names one may be the Destination too, by either binding, and of no other one (specification 16.8.5)', async () => {
    const acme = await member('Hooli');
    const other = await member('Globex');
    const client = await addSamlClient(ctx, { organization_usage: 'allow', saml_attributes: { tenant: 'org_id' } });
    const tenantOf = async (response: Response) => (await takenBy(applied, response))['tenant'];
    const entryPoint = `${service.url}/saml/sso?organization=${acme.name}`;
    const applied = await applicationOf(ctx, client, { entryPoint });
    expect(await tenantOf(await ask(browser, applied))).toBe(acme.id);

    const html = await applied.getAuthorizeFormAsync('st-3');
    const SAMLRequest = /name="SAMLRequest" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const xml = inflateRawSync(Buffer.from(SAMLRequest, 'base64')).toString();
    expect(xml).toContain(`Destination="${entryPoint}"`);
    const posted = await postRequest(browser, xml, {}, `/saml/sso?organization=${acme.name}`);
    expect(posted.status).toBe(303);
    expect(await tenantOf(await follow(browser, posted))).toBe(acme.id);

    for (const wrong of [other.name, '']) {
      const elsewhere = await postRequest(browser, xml, {}, `/saml/sso?organization=${wrong}`);
      expect([elsewhere.status, await elsewhere.text()]).toEqual([400, expect.stringContaining('not for this address')]);
    }
    const added = requestXml(client, { attributes: ` Destination="${service.url}/saml/sso?client_id=x"` });
    expect((await sendRequest(browser, added, { client_id: 'x' })).status).toBe(400);
    const twice = await postRequest(browser, xml, { organization: acme.name }, `/saml/sso?organization=${acme.name}`);
    expect([twice.status, await twice.text()]).toEqual([400, expect.stringContaining('organization twice')]);
  });

  test('who is no member is let in nowhere, and who names one where that is nothing is told (specification 16.8.5)', async () => {
    const foreign = await addOrganization(ctx);
    const client = await addSamlClient(ctx, { organization_usage: 'allow', saml_attributes: { tenant: 'org_id' } });
    const application = await applicationOf(ctx, client);
    expect((await ask(browser, application, 'st-1', { organization: foreign.name })).status).toBe(403);
    expect((await takenBy(application, await ask(browser, application)))['tenant']).toBeUndefined();
    const denying = await applicationOf(ctx, await addSamlClient(ctx));
    const refused = await ask(browser, denying, 'st-1', { organization: foreign.name });
    expect(await statusOf(refused)).toEqual(['Requester', 'RequestUnsupported']);
  });
});

test('a sign-in begins here only where the application lets it (specification 16.8.6)', async () => {
  const client = await addSamlClient(ctx, { saml_idp_initiated: true });
  const application = await applicationOf(ctx, client, { validateInResponseTo: ValidateInResponseTo.never });
  const response = await browser.get(`/saml/sso?client_id=${client.id}&RelayState=home`);
  const { RelayState, xml } = await postedBy(response.clone());
  expect(RelayState).toBe('home');
  expect(xml).not.toContain('InResponseTo');
  expect((await takenBy(application, response)).nameID).toBeTruthy();
  const off = await addSamlClient(ctx);
  for (const id of [off.id, 'nobody']) {
    const refused = await browser.get(`/saml/sso?client_id=${id}`);
    expect(refused.status).toBe(400);
    expect(await refused.text()).not.toContain('SAMLResponse');
  }
});
