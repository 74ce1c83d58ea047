// The typed client (packages/client): its types, what it sends, and what it believes.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createContext, runInContext } from 'node:vm';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { deliveryHeaders } from '../../src/domain/webhooks/sign.js';
import { managementTypes, typesPath } from '../../packages/client/generate.js';
import {
  clientCredentials,
  createManagementClient,
  createTokenVerifier,
  feed,
  ManagementError,
  records,
  unwrap,
  verifyWebhook,
  WebhookError,
  type ManagementClient,
} from '../../packages/client/src/index.js';
import type * as Client from '../../packages/client/src/index.js';
import { clientBundle } from '../support/client-bundle.js';
import { addMachine, addResource } from '../support/data.js';
import { manage, managementClient, managementToken, type Document } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';
import { now } from '../support/event-feed.js';
import { tokenRequest } from '../support/oauth.js';

const service = sharedManagedService();
const credentials = () => ({ url: service.url, clientId: managementClient.id, clientSecret: managementClient.client_secret });
let client: ManagementClient;

beforeAll(() => {
  client = createManagementClient({ url: service.url, token: clientCredentials(credentials()) });
});

const create = (email: string, by = client) => by.POST('/api/users', { body: { data: { type: 'user', attributes: { email } } } });

/** The network, which hands requests on but for what `change` makes of them. */
const network = (
  change: (request: Request, number: number) => Promise<Response | null> | Response | null,
): typeof fetch & { readonly sent: Request[] } => {
  const sent: Request[] = [];
  const through = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    if (!request.url.includes('/api/')) return fetch(request);
    sent.push(request);
    return (await change(request, sent.length)) ?? fetch(request);
  };
  return Object.assign(through as typeof fetch, { sent });
};

const through = (fetch: typeof globalThis.fetch) =>
  createManagementClient({ url: service.url, fetch, token: () => managementToken(service.url) });

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const body = JSON.stringify({ event: 'user.created', event_id: '1', data: {} });
const delivery = (at = new Date()) => {
  const message = { id: 'id-1', timestamp: Math.floor(at.getTime() / 1000), body };
  return deliveryHeaders(secret, null, 'user.created', message);
};

describe('types', () => {
  test('are those of the OpenAPI document (npm run typed-client writes them) (specification 6.5.3)', async () =>
    expect(await readFile(typesPath, 'utf8'), 'Run npm run typed-client, and commit what it writes.').toBe(await managementTypes()));

  test('compile without Node’s, and refuse an attribute that is none', () => {
    execFileSync('node_modules/.bin/tsc', ['-p', 'packages/client', '--noEmit'], { encoding: 'utf8' });
    // @ts-expect-error -- there is no such attribute
    const misspelt: Parameters<typeof client.POST<'/api/users', object>>[1] = { body: { data: { type: 'user', attributes: { email: 'x', frist_name: 'x' } } } }; // prettier-ignore
    expect(misspelt).toBeDefined();
  });
});

describe('calls', () => {
  test('a read brings the Read-After of the last write for a minute, unless it names another (specification 1.10.3)', async () => {
    const places = ['1/A', '1/B'];
    const there = network(({ method }) => {
      const place = method === 'POST' ? places.shift() : undefined;
      return Response.json({ data: [] }, { headers: place === undefined ? {} : { 'read-after': place } });
    });
    const by = through(there);
    const list = () => by.GET('/api/roles', {});
    await list();
    await create('first@example.com', by);
    await list();
    await create('second@example.com', by);
    await list();
    await by.GET('/api/roles', { headers: { 'read-after': '1/C' } });
    const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_001);
    const sending = by.send(new Request(`${service.url}/api/roles`));
    later.mockRestore();
    await sending;
    const brought = there.sent.filter(({ method }) => method === 'GET').map(({ headers }) => headers.get('read-after'));
    expect(brought).toEqual([null, '1/A', '1/B', '1/C', null]);
  });

  test('lists are followed to their end, several values of a filter have commas between them', async () => {
    const emails = Array.from({ length: 5 }, (_, index) => `many${index}@example.com`);
    for (const email of emails) await unwrap(create(email));
    const found: string[] = [];
    const query = { 'page[size]': 2, 'filter[email]': emails };
    for await (const { attributes } of records((page) => client.GET('/api/users', { params: { query: { ...query, ...page } } })))
      found.push(String(attributes?.email));
    expect(found.sort()).toEqual(emails);
  });

  test('a refusal is an error with its code and request id', async () => {
    const refused = await unwrap(create('no address')).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ManagementError);
    expect(refused).toMatchObject({ status: 422, requestId: expect.any(String), message: expect.stringContaining('not an email address') });
  });

  test('what is lost on the way is sent again, and done once (attack 48.1486)', async () => {
    const lossy = network(async (request, number) => {
      if (number > 1) return null;
      await fetch(request.clone());
      throw new TypeError('the connection broke');
    });
    const { data } = await unwrap(create('once@example.com', through(lossy)));
    expect(data.attributes?.email).toBe('once@example.com');
    const [first, second, ...more] = lossy.sent.map(({ headers }) => headers.get('idempotency-key'));
    expect([first === second, first !== null, more]).toEqual([true, true, []]);
  });

  test('what could be done twice is not sent again: a call that knows no key, a deletion', async () => {
    const broken = network(() => Promise.reject(new TypeError('the connection broke')));
    const by = through(broken);
    await expect(by.POST('/api/config/plan', { body: { meta: { document: { version: 1 } } } })).rejects.toThrow('broke');
    await expect(by.DELETE('/api/users/{id}', { params: { path: { id: 'x' } } })).rejects.toThrow('broke');
    expect(broken.sent).toHaveLength(2);
  });

  test('what is refused for now waits as it is told; a token that is refused is renewed once', async () => {
    const busy = network((_, number) => (number === 1 ? new Response(null, { status: 429, headers: { 'retry-after': '0' } }) : null));
    expect((await through(busy).GET('/api/users')).response.status).toBe(200);
    expect(busy.sent).toHaveLength(2);
    const renewals: boolean[] = [];
    const token = async (renew = false) => {
      renewals.push(renew);
      return renew ? managementToken(service.url) : 'a token that is over';
    };
    expect((await createManagementClient({ url: service.url, token }).GET('/api/users')).response.status).toBe(200);
    const never = createManagementClient({ url: service.url, token: () => 'never' });
    expect((await never.GET('/api/users')).response.status).toBe(401);
    expect(renewals).toEqual([false, true]);
  });

  test('one token serves many calls; a client that is none gets none', async () => {
    let requests = 0;
    const counting = ((...given: Parameters<typeof fetch>) => fetch(...given).finally(() => requests++)) as typeof fetch;
    const token = clientCredentials({ ...credentials(), fetch: counting });
    expect(await token()).toBe(await token());
    expect(requests).toBe(1);
    await expect(clientCredentials({ ...credentials(), clientSecret: 'wrong' })()).rejects.toThrow('invalid_client');
  });
});

describe('the feed', () => {
  test('goes from cursor to cursor, asks again where nothing is new, and ends with the signal', async () => {
    const pages = [
      { data: [{ type: 'event', id: '1', attributes: {} }], links: { next: '/api/events?page%5Bafter%5D=a' }, meta: { more: true } },
      { data: [], links: { next: '/api/events?page%5Bafter%5D=b' }, meta: { more: false } },
      { data: [{ type: 'event', id: '2', attributes: {} }], links: { next: '/api/events?page%5Bafter%5D=c' }, meta: { more: false } },
    ];
    const asked: (string | null)[] = [];
    const fetched = network((request) => {
      asked.push(new URL(request.url).searchParams.get('page[after]'));
      return Response.json(pages.shift() ?? { data: [], links: { next: '/api/events?page%5Bafter%5D=c' }, meta: { more: false } });
    });
    const stop = new AbortController();
    const seen: string[] = [];
    const follow = async () => {
      for await (const { events, cursor } of feed(through(fetched), { after: 'z', pollMs: 1, signal: stop.signal })) {
        seen.push(...events.map(({ id }) => `${id} ${cursor}`));
        if (seen.length === 2) stop.abort(new Error('enough'));
      }
    };
    await expect(follow()).rejects.toThrow('enough');
    expect([seen, asked]).toEqual([
      ['1 a', '2 c'],
      ['z', 'a', 'b'],
    ]);
  });

  test('of the service is followed from a cursor on: every event once, in its order, and goes on by the last cursor', async () => {
    const api = await manage(service.url);
    const addresses = Array.from({ length: 7 }, (_, index) => `feed-${index}@example.com`);
    const seen: unknown[] = [];
    let after = await now(api);
    for (const some of [addresses.slice(0, 4), addresses.slice(4)]) {
      const enough = seen.length + some.length;
      for (const address of some) await unwrap(create(address));
      for await (const { events, cursor } of feed<Document>(client, { after, filter: { event_type: 'user.created' }, pollMs: 20 })) {
        const told = events.map(({ attributes }) => attributes['payload'].data.email as string);
        // The feed begins where everything had ended: what was made just before may be in it.
        seen.push(...told.filter((email) => email.startsWith('feed-')));
        after = cursor;
        if (seen.length >= enough) break;
      }
    }
    expect(seen).toEqual(addresses);
  });

  test('tells a refusal', async () => {
    const refused = network(() => Response.json({ errors: [{ code: 'cursor_expired', detail: 'Gone.' }] }, { status: 410 }));
    await expect(feed(through(refused)).next()).rejects.toThrow('cursor_expired');
    const proxy = network(() => new Response('<h1>Internal error</h1>', { status: 500 }));
    await expect(feed(through(proxy)).next()).rejects.toMatchObject({ name: 'ManagementError', status: 500 });
  });
});

describe('a webhook', () => {
  test('that the service signed is believed, with either secret of a rotation', async () => {
    expect(await verifyWebhook({ secret, body, headers: delivery() })).toMatchObject({ event: 'user.created' });
    const other = `whsec_${btoa('another secret of 24 bytes')}`;
    expect(await verifyWebhook({ secret: [other, secret], body: new TextEncoder().encode(body), headers: new Headers(delivery()) })).toMatchObject({ event: 'user.created' }); // prettier-ignore
  });

  test('that is altered, old, of the future, unsigned or of another secret is not (attack 48.1487)', async () => {
    const refused = (given: Partial<Parameters<typeof verifyWebhook>[0]>) =>
      expect(verifyWebhook({ secret, body, headers: delivery(), ...given })).rejects.toThrow(WebhookError);
    await refused({ body: `${body} ` });
    await refused({ headers: delivery(new Date(Date.now() - 301_000)) });
    await refused({ headers: delivery(new Date(Date.now() + 301_000)) });
    await refused({ headers: {} });
    await refused({ headers: { ...delivery(), 'webhook-signature': 'v1,' } });
    await refused({ headers: { ...delivery(), 'webhook-signature': 'v2,x v1,***' } });
    await refused({ headers: { ...delivery(), 'webhook-id': 'id-2' } });
    await refused({ secret: `whsec_${btoa('another secret of 24 bytes')}` });
    await refused({ secret: 'no secret' });
  });
});

describe('an access token', () => {
  const resource = 'https://orders.example/api';

  test('of the service is verified, also by a key that came later; others are not (attack 48.1488)', async () => {
    const ctx = await service.context();
    const machine = await addMachine(ctx, await addResource(ctx, { identifier: resource, token_format: 'jwt' }, ['orders:read']));
    const issued = async () => String((await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource })).body['access_token']); // prettier-ignore
    const verify = createTokenVerifier({ issuer: service.url, audience: resource });
    const token = await issued();
    expect(await verify(token)).toMatchObject({ client_id: machine.id, aud: resource });
    const api = await manage(service.url);
    const { id } = await api.create('signing_keys', { algorithm: 'RS256' });
    await api.patch(`/signing_keys/${id}/activate`);
    // jose asks for keys again no sooner than half a minute after it did.
    const later = createTokenVerifier({ issuer: service.url, audience: resource });
    expect(await later(await issued())).toMatchObject({ client_id: machine.id });
    expect(await later(token)).toMatchObject({ client_id: machine.id });
    await expect(createTokenVerifier({ issuer: service.url, audience: 'https://other.example' })(token)).rejects.toThrow('aud');
    await expect(verify(`${token.slice(0, -4)}AAAA`)).rejects.toThrow();
    await expect(verify(await managementToken(service.url))).rejects.toThrow();
  });

  test('is of the issuer that is named, and of none that says it were another', async () => {
    const server = createServer((_, response) => response.end(JSON.stringify({ issuer: service.url, jwks_uri: `${service.url}/.well-known/jwks.json` }))); // prettier-ignore
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(createTokenVerifier({ issuer, audience: resource })('x.y.z')).rejects.toThrow('is not the issuer');
  });
});

describe('the package', () => {
  test('needs nothing but fetch and WebCrypto: it runs where there is nothing else', async () => {
    const text = await clientBundle(`import * as all from 'identity-provider-client'; globalThis.client = all;`, 'browser');
    const { fetch, crypto, URL, URLSearchParams, Headers, Request, Response, TextEncoder, TextDecoder, atob, btoa, setTimeout, clearTimeout } = globalThis; // prettier-ignore
    const web = { fetch, crypto, URL, URLSearchParams, Headers, Request, Response, TextEncoder, TextDecoder, atob, btoa, setTimeout, clearTimeout }; // prettier-ignore
    const context = createContext({ ...web }) as { client?: typeof Client };
    runInContext(`(() => {${text}})()`, context);
    const there = context.client as typeof Client;
    const by = there.createManagementClient({ url: service.url, token: there.clientCredentials(credentials()) });
    expect((await there.unwrap(by.GET('/api/roles'))).data.length).toBeGreaterThan(0);
    expect(await there.verifyWebhook({ secret, body, headers: delivery() })).toMatchObject({ event: 'user.created' });
  });
});
