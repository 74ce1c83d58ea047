// No form, no JSON step and no OAuth request holds the event loop: the largest body that each address takes, in hostile shapes (specification 10.3.4).
import { request as send } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/api-resources/management-permissions.js';
import { bodyLimits } from '../../src/http/request/body-limits.js';
import { registry } from '../../src/management/resources/index.js';
import { permit } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { addressesOf, doorsOf, fieldsRead, pageOf, type Door } from '../support/cost/forms.js';
import { hostileForms, hostileMembers, hostileTexts, hostileValues } from '../support/cost/shapes.js';
import { formValues } from '../support/dashboard-forms.js';
import { addUser } from '../support/data.js';
import { link, manage, managementClient, type Document } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { sharedManagedService } from '../support/shared-service.js';
import { proofsNow, setEnvironment, signedInBy } from '../support/signed-in.js';

const service = sharedManagedService();
const form = 'application/x-www-form-urlencoded';
const json = 'application/json';
/** As many fields share a body: what takes the square of a third of it is seen too. */
const together = 3;

let administrator: { id: string };
let records: Map<string, Document>;
let registered: Document;
let sections: string[];

beforeAll(async () => {
  await setEnvironment(service, { dynamic_registration_enabled: true });
  const api = await manage(service.url);
  records = await oneOfEach(service, api);
  const issuer = await api.create('trusted_issuers', 'trusted_issuer', {
    issuer: 'https://ci.example',
    name: 'CI',
    jwks_uri: 'https://ci.example/keys',
  });
  const deploy = await api.create('clients', 'client', {
    name: 'Deploy',
    application_type: 'machine',
    token_endpoint_auth_method: 'private_key_jwt',
  });
  const trusted = { client: link('client', deploy['id']), trusted_issuer: link('trusted_issuer', issuer['id']) };
  records.set('trusted_issuers', issuer);
  records.set(
    'federated_credentials',
    await api.create('federated_credentials', 'federated_credential', { claims: { sub: 'x' } }, trusted),
  );
  const ctx = await service.context();
  administrator = await addUser(ctx);
  await permit(ctx, administrator.id, ...managementPermissions);
  const body = { redirect_uris: ['https://app.example/cb'], client_name: 'App' };
  registered = (await (await new Browser(service.url).postJson('/oauth/register', body)).json()) as Document;
  const settings = await (await (await signedIn()).get('/dashboard/settings')).text();
  sections = [...settings.matchAll(/action="\/dashboard\/settings\/(\w+)"/g)].map(([, name]) => name as string);
});

/** The administrator, signed in a moment ago. */
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

const oauthNames = fieldsRead('src/oauth', 'src/http');
const accountNames = fieldsRead('src/account', 'src/sso', 'src/http/auth');

async function senderOf({ path }: Door, address: string): Promise<Sender> {
  if (path.startsWith('/oauth/register'))
    return {
      headers: path === '/oauth/register' ? {} : { authorization: `Bearer ${String(registered['registration_access_token'])}` },
      values: {},
      again: async () => ({}),
      names: Object.keys(registered),
    };
  const isNobody = /^\/(?:login|register|password)(?:$|\/(?:code|passkey|verify$|resend|complete|forgot|reset))/.test(path);
  const browser = isNobody ? new Browser(service.url) : await signedIn();
  const page = path.startsWith('/dashboard') ? await browser.get(pageOf(address)) : null;
  const html = (await page?.text()) ?? '';
  const _csrf = csrfOf(html.includes('name="_csrf"') ? html : await (await browser.get(isNobody ? '/login' : '/account')).text());
  const basic = Buffer.from(`${managementClient.id}:${managementClient.client_secret}`).toString('base64');
  const isClients = path.startsWith('/oauth/') && !/authorize|consent|device$|device\/|logout/.test(path);
  const headers: Record<string, string> = {
    origin: service.url,
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    ...(isClients && { authorization: `Basic ${basic}` }),
  };
  const { create, update } = registry.byPath.get(path.split('/')[2] ?? '') ?? {};
  const own = Object.keys({ ...formValues(html), ...create?.schema.shape, ...update?.schema.shape });
  const names = path.startsWith('/dashboard') ? own : path.startsWith('/oauth') ? oauthNames : accountNames;
  const fields = names.filter((name) => name !== '' && name !== '_csrf' && name !== '_version');
  const again = async () => ({ ...formValues(await (await browser.get(pageOf(address))).text()), _csrf });
  return { headers, values: { ...formValues(html), _csrf }, again, names: fields.length > 0 ? fields : ['name'] };
}

type Body = { readonly name: string; readonly type: string; text(values: Record<string, string>): string };

/** Each shape over the whole of a body, and in each of its fields; as JSON where the address takes JSON. */
function* bodiesOf(names: readonly string[], takesJson: boolean): Generator<Body> {
  const room = bodyLimits.form - 400;
  const encoded = (values: Record<string, string>) => new URLSearchParams(values).toString();
  for (const [name, make] of Object.entries(hostileForms))
    yield { name, type: form, text: (values) => `${encoded({ _csrf: values['_csrf'] ?? '' })}&${make(room * 0.95)}` };
  const groups = Array.from({ length: Math.ceil(names.length / together) }, (_, at) => names.slice(at * together, (at + 1) * together));
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

async function post({ method }: Door, address: string, headers: Record<string, string>, type: string, body: string): Promise<number> {
  const response = await send(`${service.url}${address}`, { method, headers: { ...headers, 'content-type': type, accept: type === json ? json : 'text/html' }, body }); // prettier-ignore
  await response.body.dump();
  return response.statusCode;
}

/** What takes JSON beside forms, or instead of them. */
const takesJson = (path: string) => !/^\/(?:dashboard|oauth|auth\/sso)\/(?!setup|register)/.test(path) && path !== '/language';

/** Collections that nobody writes by forms, forms without a file, and what is none of the sample's or gone: 404 whoever asks. */
const hasNothing =
  /^POST \/dashboard\/(?:(?:identities|consents|sessions|webhook_deliveries|event_types|audit_logs|security_events|request_traces|signing_keys)(?:\/|$)|settings\/logo$|arrivals\/|(?:registration_tokens|federated_credentials)\/[^/]+(?:\/delete)?$)|^DELETE \/oauth\/register\//;

test('no form, JSON step or OAuth request holds the event loop, whatever its shape (attack 18.1040)', async () => {
  const slow: string[] = [];
  const statuses = new Map<number, number>();
  const closed: string[] = [];
  let [walked, requests] = [0, 0];
  let worst = { name: '', ms: 0 };
  // What deletes comes last: the others need what it deletes.
  const doors = (await doorsOf(service)).sort(
    (one, other) => Number(one.path.endsWith('/delete')) - Number(other.path.endsWith('/delete')),
  );
  for (const door of doors)
    for (const address of addressesOf(
      door.path,
      (collection) => (door.path.startsWith('/oauth/register') ? String(registered['client_id']) : idOf(collection)),
      sections,
    )) {
      walked += 1;
      const sender = await senderOf(door, address);
      const met = new Set<number>();
      for (const { name, type, text } of bodiesOf(sender.names, takesJson(door.path))) {
        const body = text(sender.values);
        const bytes = Buffer.byteLength(body);
        if (bytes > bodyLimits.form) throw new Error(`${address}, ${name}: ${bytes} bytes are too many for the test`);
        const { status, ms } = await costOf(() => post(door, address, sender.headers, type, body));
        requests += 1;
        // What was changed has another version now.
        if (status === 303 && door.path.startsWith('/dashboard')) sender.values = await sender.again();
        // What has too many fields is refused before anybody looks at who sends it.
        if (!Object.hasOwn(hostileForms, name)) met.add(status);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (ms > worst.ms) worst = { name: `${address}, ${name}`, ms };
        // The provider of `oneOfEach` doesn't answer, which is 502 where somebody is sent on to it.
        if (ms > mostHeld || (status >= 500 && status !== 502) || (status === 413 && address !== '/oauth/register')) slow.push(`${door.method} ${address}, ${name} (${bytes} bytes): ${status} after ${ms.toFixed(0)} ms`); // prettier-ignore
      }
      if ([...met].every((status) => [401, 403, 404, 429].includes(status))) closed.push(`${door.method} ${address}`);
    }
  console.info(`${doors.length} routes, ${walked} addresses, ${requests} requests`, Object.fromEntries(statuses), worst, closed);
  expect(slow).toEqual([]);
  expect(closed.filter((address) => !hasNothing.test(address))).toEqual([]);
  expect([doors.length >= 100, walked >= 150, requests >= 8_000]).toEqual([true, true, true]);
}, 1_800_000);
