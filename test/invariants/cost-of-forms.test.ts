// No form, no JSON step and no OAuth request holds the event loop: the largest body that each address takes, in hostile shapes (specification 10.3.4).
import { Agent, request as send } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { settingsSubjects } from '../../src/dashboard/pages/settings/sections.js';
import { bodyLimits } from '../../src/http/request/body-limits.js';
import { registry } from '../../src/management/resources/index.js';
import { grants } from '../../src/oauth/grants/index.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { watchFields } from '../support/cost/fields-read.js';
import { addressesOf, doorsOf, fieldsOf, fieldsRead, pageOf, type Door } from '../support/cost/forms.js';
import { hostileForms, hostileMembers, hostileTexts, hostileValues } from '../support/cost/shapes.js';
import { formValues } from '../support/dashboard-forms.js';
import { addUser } from '../support/data.js';
import { manage, managementClient, type Document } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { openedBy } from '../support/setup-links.js';
import { sharedManagedService } from '../support/shared-service.js';
import { proofsNow, setEnvironment, signedInBy } from '../support/signed-in.js';

const service = sharedManagedService();
const fields = watchFields();
afterAll(async () => {
  fields.stop();
  await dispatcher.destroy();
});
const form = 'application/x-www-form-urlencoded';
const json = 'application/json';
/** As many fields share a body: what takes the square of a third of it is seen too. */
const together = 3;

let administrator: { id: string };
let setupBrowser: Browser;
let records: Map<string, Document>;
let registered: Document;
let sections: string[];

beforeAll(async () => {
  await setEnvironment(service, { dynamic_registration_enabled: true });
  const api = await manage(service.url);
  records = await oneOfEach(service, api);
  setupBrowser = await openedBy(service.url, { path: new URL(records.get('setup_links')?.['attributes'].url).pathname });
  expect((await api.update('connections', idOf('connections'), { signals: 'push' })).status).toBe(200);
  const ctx = await service.context();
  administrator = await addUser(ctx);
  await permit(ctx, administrator.id, ...managementPermissions);
  await ctx.db
    .knex('clients')
    .where({ id: managementClient.id })
    .update({ grant_types: Object.keys(grants) });
  const body = { redirect_uris: ['https://app.example/cb'], client_name: 'App' };
  registered = (await (await new Browser(service.url).postJson('/oauth/register', body)).json()) as Document;
  sections = settingsSubjects.map(({ name }) => name);
});

/** What is wrong by itself lets nothing else be looked at: hostile without company. */
const alone = ['_csrf', '_version'];

const signedIn = async () => signedInBy(service, administrator, proofsNow(await service.context(), 'password'));

const idOf = (collection: string): string => String(records.get(collection)?.['id'] ?? '00000000-0000-7000-8000-000000000000');

/** Who sends, and what of a form is known: the token of its page, the values that stand in it, the names that it may have. */
type Sender = {
  readonly headers: Record<string, string>;
  values: Record<string, string>;
  readonly names: string[];
  /** The values as they stand in the page by now. */
  again(): Promise<Record<string, string>>;
};

/** What an address reads only beside something else that is right: each grant type, and a request of a client that there is. */
function beside(path: string): Record<string, string>[] {
  if (path === '/oauth/token')
    return Object.entries(grants).map(([grant_type, { params }]) => ({
      grant_type,
      ...Object.fromEntries(Object.keys(params).filter((name) => params[name]?.required).map((name) => [name, 'x'])),
    })); // prettier-ignore
  const code_challenge = 'x'.repeat(43);
  const asked = { client_id: String(registered['client_id']), redirect_uri: 'https://app.example/cb', response_type: 'code', code_challenge, code_challenge_method: 'S256' }; // prettier-ignore
  const providers = ['oidc', 'saml'].map((protocol) => ({ provider: 'other', protocol }));
  if (path === '/setup/:token/connection') return providers;
  return [path === '/oauth/authorize' ? asked : {}];
}

const oauthNames = fieldsRead('src/oauth', 'src/http');
const samlNames = [...fieldsRead('src/saml', 'src/oauth/authorize'), 'SAMLRequest', 'RelayState', 'SAMLEncoding'];
const accountNames = fieldsRead('src/account', 'src/setup', 'src/sso', 'src/http/auth');

/** The page without its frame, whose forms are addresses of their own. */
const withoutFrame = (html: string): string => /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? '';

async function senderOf({ path }: Door, address: string): Promise<Sender> {
  if (path.startsWith('/oauth/register'))
    return {
      headers: path === '/oauth/register' ? {} : { authorization: `Bearer ${String(registered['registration_access_token'])}` },
      values: {},
      again: async () => ({}),
      names: Object.keys(registered),
    };
  const isNobody = /^\/(?:login|register|password)(?:$|\/(?:code|passkey|verify$|resend|complete|forgot|reset))/.test(path);
  const isSetup = path.startsWith('/setup/');
  const browser = isSetup ? setupBrowser : isNobody ? new Browser(service.url) : await signedIn();
  const page = path.startsWith('/dashboard') ? await browser.get(pageOf(address)) : null;
  const html = (await page?.text()) ?? '';
  const _csrf = csrfOf(
    /name="_csrf" value="[^"]/.test(html) ? html : await (await browser.get(isNobody || isSetup ? '/login' : '/account')).text(),
  );
  const basic = Buffer.from(`${managementClient.id}:${managementClient.client_secret}`).toString('base64');
  const isClients = path.startsWith('/oauth/') && !/authorize|consent|device$|device\/|logout/.test(path);
  const headers: Record<string, string> = {
    origin: service.url,
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    ...(isClients && { authorization: `Basic ${basic}` }),
  };
  const { create, update } = registry.byPath.get(path.split('/')[2] ?? '') ?? {};
  const own = [...fieldsOf(withoutFrame(html)), ...Object.keys({ ...create?.schema.shape, ...update?.schema.shape })];
  const names = new Set(
    path.startsWith('/dashboard') ? own : path.startsWith('/oauth') ? oauthNames : path.startsWith('/saml') ? samlNames : accountNames,
  );
  for (const name of alone) names.add(name);
  const again = async () => ({ ...formValues(withoutFrame(await (await browser.get(pageOf(address))).text())), _csrf });
  return { headers, values: { ...formValues(withoutFrame(html)), _csrf }, again, names: [...names] };
}

type Body = { readonly name: string; readonly type: string; text(values: Record<string, string>): string };

/** Each shape over the whole of a body, and in each of its fields; as JSON where the address takes JSON. */
function* bodiesOf(names: readonly string[], takesJson: boolean): Generator<Body> {
  const room = bodyLimits.form - 400;
  const encoded = (values: Record<string, string>) => new URLSearchParams(values).toString();
  for (const [name, make] of Object.entries(hostileForms))
    yield { name, type: form, text: (values) => `${encoded({ _csrf: values['_csrf'] ?? '' })}&${make(room * 0.95)}` };
  const others = names.filter((name) => !alone.includes(name));
  const groups = Array.from({ length: Math.ceil(others.length / together) }, (_, at) => others.slice(at * together, (at + 1) * together));
  groups.push(...names.filter((name) => alone.includes(name)).map((name) => [name]));
  for (const [hostile, make] of Object.entries(hostileTexts))
    for (const group of groups)
      yield {
        name: `${hostile} in ${group.join(', ')}`,
        type: form,
        text(values) {
          const beside = Object.fromEntries(Object.entries(values).filter(([name]) => !group.includes(name)));
          const free = room - encoded(beside).length - group.join().length;
          // What is encoded is up to twelve times as long: as much of it as fits.
          const share = encoded({ x: make(400) }).length / 400;
          return encoded({
            ...beside,
            ...Object.fromEntries(group.map((name) => [name, make(Math.floor(free / group.length / share) - 4)])),
          });
        },
      };
  if (!takesJson) return;
  for (const [name, make] of Object.entries(hostileMembers)) yield { name, type: json, text: () => `{${make(room * 0.95)}}` };
  for (const [at, [name, make]] of Object.entries(hostileValues).entries())
    yield { name: `${name} in ${names[at % names.length]}`, type: json, text: () => `{"${names[at % names.length]}":${make(room * 0.9)}}` };
}

/** A `state` of any length is in the Location of the answer. */
const dispatcher = new Agent({ maxHeaderSize: 4 * bodyLimits.form });

async function post({ method }: Door, address: string, headers: Record<string, string>, type: string, body: string): Promise<number> {
  const response = await send(`${service.url}${address}`, { method, headers: { ...headers, 'content-type': type, accept: type === json ? json : 'text/html' }, body, dispatcher }); // prettier-ignore
  await response.body.dump();
  return response.statusCode;
}

const takesJson = (path: string) => !/^\/(?:dashboard|oauth|saml|auth\/sso|setup)\/(?!setup|register)/.test(path) && path !== '/language';

const written = (...collections: string[]) => collections.flatMap((name) => [`POST /dashboard/${name}`, `POST /dashboard/${name}/:id`]);

/** Addresses that answer 401, 403, 404 or 429 whatever their body is, by the reason. Any other one is a hole in the walk, and so is one of these that opens. */
const closed: Readonly<Record<string, readonly string[]>> = {
  'nobody makes or changes them: 404': [
    ...written(
      'identities',
      'consents',
      'authorizations',
      'provider_tokens',
      'approvals',
      'signal_streams',
      'sessions',
      'webhook_deliveries',
    ),
    ...written('event_types', 'events', 'audit_logs', 'security_events', 'request_traces'),
    'POST /dashboard/organization_groups',
  ],
  'they are made and never changed: 404': [
    'registration_tokens',
    'signing_keys',
    'saml_certificates',
    'organization_invitations',
    'setup_links',
  ].map((name) => `POST /dashboard/${name}/:id`),
  'nobody deletes them: 404': [
    'authorizations',
    'approvals',
    'provider_tokens',
    'webhook_deliveries',
    'event_types',
    'events',
    'audit_logs',
    'security_events',
    'request_traces',
    'signing_keys',
    'saml_certificates',
    'organization_groups',
    'organization_invitations',
    'setup_links',
  ].map((name) => `POST /dashboard/${name}/:id/delete`),
  'the session of the sample is ended by what is done to its person: 404': ['POST /dashboard/sessions/:id/delete'],
  'the consent of the sample is ended by what is done to its authorization: 404': ['POST /dashboard/consents/:id/delete'],
  'only applications do it: 404': ['POST /dashboard/sessions/:id/touch'],
  'it takes no body, and the first request deletes the client whose token it is: 401': ['DELETE /oauth/register/:client_id'],
};

/** What the walk has met by now. */
const met = {
  addresses: 0,
  requests: 0,
  /** Names that neither pages nor sources showed, and that were read. */
  learned: new Set<string>(),
  walked: new Set<string>(),
  statuses: new Map<number, number>(),
  worst: { name: '', ms: 0 },
  slow: [] as string[],
  closed: new Set<string>(),
};

/** @returns the status of the answer to one body, which is held against what one may cost */
async function walkBody(door: Door, address: string, sender: Sender, { name, type, text }: Body): Promise<number> {
  const body = text(sender.values);
  const bytes = Buffer.byteLength(body);
  if (bytes > bodyLimits.form) throw new Error(`${address}, ${name}: ${bytes} bytes are too many for the test`);
  fields.watches = !Object.hasOwn(hostileForms, name) && !Object.hasOwn(hostileMembers, name);
  const { status, ms } = await costOf(() => post(door, address, sender.headers, type, body));
  fields.watches = false;
  met.requests += 1;
  // What was changed has another version now.
  if (status === 303 && door.path.startsWith('/dashboard')) sender.values = await sender.again();
  met.statuses.set(status, (met.statuses.get(status) ?? 0) + 1);
  if (ms > met.worst.ms) met.worst = { name: `${address}, ${name}`, ms };
  // The provider of `oneOfEach` doesn't answer, which is 502 where somebody is sent on to it.
  if (ms > mostHeld || (status >= 500 && status !== 502) || (status === 413 && address !== '/oauth/register'))
    met.slow.push(`${door.method} ${address}, ${name} (${bytes} bytes): ${status} after ${ms.toFixed(0)} ms`);
  return status;
}

/** Each shape in each field: those that are known before, then those that turn out to be read, until nothing is read that wasn't hostile. */
async function walkAddress(door: Door, address: string): Promise<void> {
  met.addresses += 1;
  const statuses = new Set<number>();
  for (const given of beside(door.path)) {
    const sender = await senderOf(door, address);
    sender.values = { ...sender.values, ...given };
    const walked = new Set<string>();
    for (let fresh = sender.names; fresh.length > 0;) {
      for (const name of fresh) for (const names of [walked, met.walked]) names.add(name);
      fields.taken();
      for (const body of bodiesOf(fresh, takesJson(door.path))) {
        const status = await walkBody(door, address, sender, body);
        // What has too many fields is refused before anybody looks at who sends it.
        if (!Object.hasOwn(hostileForms, body.name)) statuses.add(status);
      }
      fresh = [...fields.taken()].filter((name) => !walked.has(name));
      for (const name of fresh) met.learned.add(name);
      if (walked.size > 1_000) throw new Error(`${address} reads ever more fields: ${fresh.join(' ').slice(0, 300)}`);
    }
  }
  const path = door.path.replace(/:tab$/, address.split('/').at(-1) ?? '');
  if ([...statuses].every((status) => [401, 403, 404, 429].includes(status))) met.closed.add(`${door.method} ${path}`);
}

test('no form, JSON step or OAuth request holds the event loop, whatever its shape (attack 18.975)', async () => {
  // What deletes comes last, the credentials before the client that they belong to: the others need what it deletes.
  // A session is ended first: what is done to its person ends it too.
  const rank = ({ path }: Door) =>
    Number(/\/(?:delete|finish)$/.test(path)) +
    Number(path.endsWith('/delete') && !path.includes('/federated_')) -
    Number(path === '/dashboard/sessions/:id/:tab');
  const doors = (await doorsOf(service)).sort((one, other) => rank(one) - rank(other));
  for (const door of doors) {
    const own = (collection: string) => (door.path.startsWith('/oauth/register') ? String(registered['client_id']) : idOf(collection));
    for (const address of addressesOf(door.path, own, sections)) await walkAddress(door, address);
  }
  console.info(`${doors.length} routes, ${met.addresses} addresses, ${met.requests} requests`, Object.fromEntries(met.statuses), met.worst, `${met.learned.size} names learned`, `${met.closed.size} closed`); // prettier-ignore
  expect(met.slow).toEqual([]);
  expect([...met.closed].sort()).toEqual(Object.values(closed).flat().sort());
  expect([doors.length >= 100, met.addresses >= 150, met.requests >= 8_000, met.learned.size >= 20]).toEqual([true, true, true, true]);
  // Read after a grant type that is right, by a name in a list, and one by one.
  for (const name of ['subject_token', 'address_locality', 'current_password']) expect([...met.walked]).toContain(name);
}, 1_800_000);
