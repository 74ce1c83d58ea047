// Names that people read and decide by, and where an answer may be sent: one rule at every door.
import { beforeAll, describe, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { manage, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

beforeAll(async () => {
  const [environment] = (await api.get('/environments')).body['data'] as Document[];
  const attributes = { dynamic_registration_enabled: true };
  await api.update('environments', environment?.['id'], attributes);
});

const hostile = [
  'Acme\u202emoc',
  'Acme\u2066x',
  'Ac\u200bme',
  'Ac\u00adme',
  'Acme\u0007',
  'Acme\nPay',
  '\u3164',
  '\ufeffAcme',
  'Acme\u2028Pay',
  `Acme${'\u0301'.repeat(7)}`,
];
const fine = ['Acme & Söhne', '日本語アプリ', 'אקמי', 'می‌خواهم', '👩‍💻 Tools', 'မြွှေပွေး'];
const callback = ['https://app.example/cb'];

const pointer = (answer: { status: number; body: Document }) => [answer.status, answer.body['errors']?.[0]?.source?.pointer];

async function register(metadata: Document): Promise<{ status: number; body: Document }> {
  const response = await fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: callback, ...metadata }),
  });
  return { status: response.status, body: (await response.json()) as Document };
}

describe('names without control, invisible and turning characters or stacks of marks (attacks 9.271, 9.855)', () => {
  const doors: [string, string, (name: string) => Document][] = [
    ['clients', 'name', (name) => ({ name, redirect_uris: callback })],
    ['api_resources', 'name', (name) => ({ name, identifier: 'https://names.example' })],
    ['roles', 'name', (name) => ({ name })],
    ['environments', 'name', (name) => ({ name, slug: 'names', kind: 'staging' })],
    ['connections', 'display_name', (display_name) => ({ name: 'acme', display_name, strategy: 'oidc', provider_client_id: 'x', issuer: 'https://acme.example' })],
  ]; // prettier-ignore

  test.each(doors)('POST /api/%s', async (collection, attribute, attributes) => {
    for (const name of hostile)
      expect([name, ...pointer(await api.attempt(collection, attributes(name)))]).toEqual([name, 422, `/data/attributes/${attribute}`]);
    const made = await api.create(collection, attributes(fine[0] as string));
    if (collection === 'environments') return;
    for (const name of fine) {
      const patched = await api.update(collection, made['id'], { [attribute]: name });
      expect([name, patched.status]).toEqual([name, 200]);
    }
    const refused = await api.update(collection, made['id'], { [attribute]: hostile[0] });
    expect(pointer(refused)).toEqual([422, `/data/attributes/${attribute}`]);
  });

  test('the brand of an environment', async () => {
    const [environment] = (await api.get('/environments?filter[slug]=default')).body['data'] as Document[];
    const id = (environment ?? ((await api.get('/environments')).body['data'] as Document[])[0])?.['id'] as string;
    const answer = await api.update('environments', id, { branding: { name: hostile[0] } });
    expect(answer.status).toBe(422);
  });

  test('RFC 7591: 400 invalid_client_metadata, at a replacement too', async () => {
    for (const client_name of hostile.slice(0, 6)) {
      const { status, body } = await register({ client_name });
      expect([client_name, status, body['error']]).toEqual([client_name, 400, 'invalid_client_metadata']);
    }
    for (const client_name of fine) expect((await register({ client_name })).status).toBe(201);
    const { body } = await register({ client_name: 'Acme' });
    const replaced = await fetch(body['registration_client_uri'] as string, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${body['registration_access_token']}` },
      body: JSON.stringify({ client_id: body['client_id'], redirect_uris: callback, client_name: hostile[0] }),
    });
    expect([replaced.status, ((await replaced.json()) as Document)['error']]).toEqual([400, 'invalid_client_metadata']);
  });

  test('the dashboard shows the refusal at the field', async () => {
    const browser = await signedInWith(service, 'clients:read', 'clients:write', 'connections:read');
    const fields = { name: hostile[0] as string, application_type: 'web', redirect_uris: callback[0] as string };
    const answer = await browser.submit('/dashboard/clients/new?kind=web', fields, '/dashboard/clients');
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain('invisible characters');
  });
});

describe('redirect URIs that open other programs or pages', () => {
  const elsewhere = [
    'tel:+44123',
    'sms:+44123',
    'mailto:a@b.example',
    'intent://x#y',
    'view-source:https://x.example',
    'chrome://settings',
    'ms-settings:x',
    'itms-apps://x',
  ];

  test('422 in the Management API, for native clients too (attack 2.272)', async () => {
    for (const uri of elsewhere) {
      for (const attribute of ['redirect_uris', 'post_logout_redirect_uris']) {
        const attributes = { name: 'Native', application_type: 'native', redirect_uris: ['com.example.app:/cb'], [attribute]: [uri] };
        const answer = await api.attempt('clients', attributes);
        expect([uri, ...pointer(answer)]).toEqual([uri, 422, `/data/attributes/${attribute}/0`]);
      }
    }
    const redirect_uris = ['com.example.app:/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'];
    await api.create('clients', { name: 'Native', application_type: 'native', redirect_uris });
  });

  test('400 invalid_redirect_uri for those that register themselves (attack 2.272)', async () => {
    const native = { application_type: 'native', token_endpoint_auth_method: 'none' };
    for (const uri of elsewhere) {
      const { status, body } = await register({ ...native, redirect_uris: [uri] });
      expect([uri, status, body['error']]).toEqual([uri, 400, 'invalid_redirect_uri']);
    }
    expect(
      (await register({ ...native, redirect_uris: ['com.example.app:/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'] })).status,
    ).toBe(201);
  });
});
