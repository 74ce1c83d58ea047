type Schema = Record<string, unknown>;

const formats: Record<string, string> = {
  uuid: '0192f0c1-7a3b-7c4d-8e5f-0123456789ab',
  'date-time': '2026-01-31T12:00:00.000Z',
  email: 'ada@example.com',
  uri: 'https://app.example.com',
};

const named: Record<string, unknown> = {
  email: 'ada@example.com',
  first_name: 'Ada',
  last_name: 'Lovelace',
  name: 'Orders',
  url: 'https://app.example.com/webhooks',
  domain: 'login.example.com',
  redirect_uris: ['https://app.example.com/callback'],
  identifier: 'https://orders.example.com/api',
  scope: 'orders:read',
};

/** A value that fits a JSON Schema, for people to read: real-looking for the names that occur most. */
export function exampleOf(schema: Schema, name = ''): unknown {
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const options = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  if (options) return exampleOf(options.find((one) => one['type'] !== 'null') ?? {}, name);
  if (name in named) return named[name];
  const types = [schema['type']].flat().filter((type) => type !== 'null');
  switch (types[0]) {
    case 'object': {
      const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
      return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, exampleOf(value, key)]));
    }
    case 'array':
      return schema['items'] ? [exampleOf(schema['items'] as Schema)] : [];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema['minimum'] ?? 1) > 0 ? Number(schema['minimum'] ?? 1) : 1);
    case 'string':
      return formats[String(schema['format'])] ?? 'text';
    default:
      return {};
  }
}
