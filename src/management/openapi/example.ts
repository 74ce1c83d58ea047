import { named } from '../../lib/named.js';

type Schema = Record<string, unknown>;

const formats: Record<string, string> = named({
  uuid: '0192f0c1-7a3b-7c4d-8e5f-0123456789ab',
  'date-time': '2026-01-31T12:00:00.000Z',
  email: 'ada@example.com',
  uri: 'https://app.example.com/webhooks',
});

const examples: Record<string, unknown> = named({
  id: formats['uuid'],
  email: 'ada@example.com',
  name: 'Orders',
  url: formats['uri'],
  domain: 'login.example.com',
  slug: 'staging',
  identifier: 'https://orders.example.com/api',
  redirect_uris: ['https://app.example.com/callback'],
  scopes: ['orders:read'],
  events: ['user.created'],
  grant_type: 'client_credentials',
  document: { version: 1, roles: [{ name: 'clerk' }] },
});

/** What new records are made of whose rules are more than the schema says. */
const created: Record<string, Schema> = named({
  client: { name: 'Orders', application_type: 'web', redirect_uris: ['https://app.example.com/callback'] },
  connection: { name: 'acme', display_name: 'Acme', strategy: 'oidc', provider_client_id: 'idp', issuer: 'https://login.acme.example' },
  logo: { image: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' },
  mail_template: { name: 'register_code', locale: 'en', subject: 'Your code', text: 'Your code is {{code}}.' },
  organization: { name: 'acme', display_name: 'Acme' },
  page_text: { key: 'login.title', locale: 'de', text: 'Willkommen' },
  authorization_detail_type: {
    name: 'payment',
    fields: [{ name: 'amount', kind: 'money', required: true }],
    sentence: { en: 'Pay {amount}' },
  },
  external_server: {
    name: 'Todo',
    issuer: 'https://auth.todo.example',
    resources: [{ identifier: 'https://api.todo.example/mcp', scopes: ['todos.read'] }],
  },
  trusted_issuer: { name: 'GitHub Actions', issuer: 'https://token.actions.githubusercontent.com' },
});

/** A document for people to read that fits a JSON Schema: what is required, with real-looking values. `components` resolves references. */
export function exampleOf(schema: Schema, components: Readonly<Record<string, Schema>>, name = ''): unknown {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return exampleOf(components[reference.split('/').at(-1) ?? ''] ?? {}, components, name);
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(examples[name]) ? examples[name] : schema['enum'][0];
  if (examples[name] !== undefined) return examples[name];
  const options = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  if (options) return exampleOf(options.find((one) => one['type'] !== 'null') ?? {}, components, name);
  switch ([schema['type']].flat().find((type) => type !== 'null')) {
    case 'object': {
      const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
      const required = new Set((schema['required'] ?? []) as string[]);
      // A change of nothing shows nothing.
      const isBare = (key: string) =>
        Object.keys((exampleOf(Object(properties.find(([one]) => one === key)?.[1]), components, key) as object | undefined) ?? {})
          .length === 0;
      const needed = properties.filter(
        ([key]) => required.has(key) || key === 'attributes' || (key === 'relationships' && name === 'data' && isBare('attributes')),
      );
      const shown = ['attributes', 'relationships'].includes(name) && needed.length === 0 ? properties.slice(0, 1) : needed;
      const example = Object.fromEntries(shown.map(([key, value]) => [key, exampleOf(value, components, key)]));
      const whole = name === 'data' && !('id' in example) ? created[String(example['type'])] : undefined;
      return whole ? { ...example, attributes: whole } : example;
    }
    case 'array':
      return schema['items'] ? [exampleOf(schema['items'] as Schema, components)] : [];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema['minimum'] ?? 1));
    default:
      return formats[String(schema['format'])] ?? 'text';
  }
}
