// No query string and no upload holds the event loop (specification 10.3.4).
import { request as send } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { registry } from '../../src/management/resources/index.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { addressesOf, doorsOf, fieldsRead } from '../support/cost/forms.js';
import { hostileForms, hostileTexts } from '../support/cost/shapes.js';
import { hostileUploads, uploadType } from '../support/cost/uploads.js';
import { addUser } from '../support/data.js';
import { manage, type Api, type Document } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { sharedManagedService } from '../support/shared-service.js';
import { proofsNow, signedInBy } from '../support/signed-in.js';
import { startAt } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedManagedService();
/** The head of a request ends at 32 KiB. */
const room = 30_000;
/** As many names share an address: what takes the square of a sixth of it is seen too. */
const together = 6;

let api: Api;
let records: Map<string, Document>;
let browser: Browser;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await ScriptedUpstream.start();
  api = await manage(service.url);
  records = await oneOfEach(service, api);
  const ctx = await service.context();
  const administrator = await addUser(ctx);
  await permit(ctx, administrator.id, ...managementPermissions);
  browser = await signedInBy(service, administrator, proofsNow(ctx, 'password'));
});
afterAll(() => upstream?.close());

const idOf = (collection: string): string => String(records.get(collection)?.['id'] ?? '00000000-0000-7000-8000-000000000000');

type Query = { readonly name: string; readonly text: string };

/** Each shape over the whole of a query string, and in each of its parameters. */
function* queriesOf(names: readonly string[], within: number): Generator<Query> {
  for (const [name, make] of Object.entries(hostileForms)) yield { name, text: make(within * 0.95) };
  for (const [hostile, make] of Object.entries(hostileTexts)) {
    const share = encodeURIComponent(make(400)).length / 400;
    for (let at = 0; at < names.length; at += together) {
      const group = names.slice(at, at + together);
      const value = make(Math.floor(within / group.length / share) - 60);
      yield { name: `${hostile} in ${group.join(', ')}`, text: group.map((name) => `${name}=${encodeURIComponent(value)}`).join('&') };
    }
  }
}

const ofLists = ['sort', 'include', 'q', 'page[size]', 'page[after]', 'page[before]', 'tab', 'language', 'created_at'];
const namesOf = (path: string): string[] => {
  const [, first, second] = path.split('/');
  const resource = registry.byPath.get(second ?? '');
  const filters = Object.keys(resource?.filters ?? {}).map((name) => `filter[${name}]`);
  if (first === 'dashboard' || first === 'api') return [...ofLists, ...filters, `fields[${resource?.type ?? 'x'}]`];
  if (first === 'saml') return [...fieldsRead('src/saml', 'src/oauth/authorize'), 'SAMLRequest', 'RelayState', 'SAMLEncoding', 'Signature'];
  return path.startsWith('/oauth') ? fieldsRead('src/oauth') : fieldsRead('src/account', 'src/sso');
};

/** @returns the status of the answer, and notes what held the event loop or failed */
function watched(limit: (status: number) => boolean) {
  const [slow, statuses]: [string[], Map<number, number>] = [[], new Map()];
  let requests = 0;
  let worst = { name: '', ms: 0 };
  return {
    slow,
    async ask(name: string, work: () => Promise<number>): Promise<number> {
      const { status, ms } = await costOf(work);
      requests += 1;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (ms > worst.ms) worst = { name, ms };
      if (ms > mostHeld || !limit(status)) slow.push(`${name}: ${status} after ${ms.toFixed(0)} ms`);
      return status;
    },
    told: () => [requests, Object.fromEntries(statuses), worst] as const,
  };
}

const cookie = () => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

async function get(address: string, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await send(`${service.url}${address}`, { headers });
  await body.dump();
  return statusCode;
}

test('no query string holds the event loop, whatever its shape (attack 18.975)', async () => {
  const walk = watched((status) => status < 500 || status === 502);
  const pages = (await doorsOf(service, ['GET'])).flatMap(({ path }) => addressesOf(path, idOf, ['general']));
  const ofApi = [...registry.byPath.values()].filter(({ routed }) => routed !== false).map(({ path }) => `/api/${path}`);
  for (const address of new Set([...pages, ...ofApi])) {
    const isApi = address.startsWith('/api/');
    const headers = isApi ? { authorization: `Bearer ${api.token as string}` } : { cookie: cookie(), accept: 'text/html' };
    for (const { name, text } of queriesOf(namesOf(address), room - address.length))
      await walk.ask(`${address}, ${name}`, () => get(`${address}${address.includes('?') ? '&' : '?'}${text}`, headers));
  }
  const [requests, ...more] = walk.told();
  console.info(`${pages.length} pages, ${ofApi.length} collections, ${requests} requests`, ...more);
  expect(walk.slow).toEqual([]);
  expect([pages.length >= 80, ofApi.length >= 20, requests >= 2_000]).toEqual([true, true, true]);
}, 1_800_000);

test('no answer of a provider holds the event loop, whatever its shape (attack 18.975)', async () => {
  const walk = watched((status) => status < 500 || status === 502);
  const connection = await addConnection(await service.context(), { issuer: upstream.url });
  for (const { name, text } of queriesOf(['code', 'iss', 'error', 'error_description', 'session_state', 'answer'], room - 200))
    for (const parameter of text.split('&', 8)) {
      const visitor = new Browser(service.url);
      const state = (await startAt(visitor, connection)).searchParams.get('state') as string;
      const headers = { cookie: [...visitor.cookies].map(([one, value]) => `${one}=${value}`).join('; '), accept: 'text/html' };
      const query = name in hostileForms ? text : parameter;
      await walk.ask(name, () => get(`/auth/sso/callback?state=${encodeURIComponent(state)}&${query}`, headers));
    }
  expect(walk.slow).toEqual([]);
  expect(walk.told()[0]).toBeGreaterThanOrEqual(40);
}, 300_000);

test('no upload holds the event loop, whatever its shape (attack 18.1079)', async () => {
  const walk = watched((status) => [400, 413, 422].includes(status));
  const addresses = ['/dashboard/settings/logo', ...['clients', 'organizations'].map((owner) => `/dashboard/${owner}/${encodeURIComponent(idOf(owner))}/logo`)]; // prettier-ignore
  for (const address of addresses) {
    const csrf = csrfOf(await (await browser.get(address)).text());
    for (const [name, make] of Object.entries(hostileUploads)) {
      const upload = make(csrf);
      const headers = { cookie: cookie(), origin: service.url, 'content-type': uploadType(upload), accept: 'text/html' };
      await walk.ask(`${address}, ${name}`, async () => {
        const { statusCode, body } = await send(`${service.url}${address}`, {
          method: 'POST',
          headers,
          body: Buffer.from(upload.body, 'latin1'),
        });
        await body.dump();
        return statusCode;
      });
    }
  }
  console.info(...walk.told());
  expect(walk.slow).toEqual([]);
}, 300_000);
