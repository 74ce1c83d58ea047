// No request holds the event loop: the largest body that each operation, form and endpoint takes, in hostile shapes (specification 10.3.4).
import { request as send } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { bodyLimits } from '../../src/http/request/body-limits.js';
import { endpoints } from '../../src/management/calls/index.js';
import { registry } from '../../src/management/resources/index.js';
import { costOf, mostHeld as most } from '../support/cost/event-loop.js';
import { hostileMembers, hostileTexts, hostileValues } from '../support/cost/shapes.js';
import { manage, managementToken, managementClient, type Document } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { valuesOf } from '../support/reach/values.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let records: Map<string, Document>;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  records = await oneOfEach(service, api);
});

/** An operation with a document: its address, how long its body may be, and what stands around the members that it takes. */
type Operation = {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly limit: number;
  readonly schema: z.ZodObject | null;
  readonly document: (members: string) => string;
};

type Definition = {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  element?: z.ZodType;
  options?: z.ZodType[];
  shape?: Record<string, z.ZodType>;
  valueType?: z.ZodType;
  checks?: { _zod: { def: { check: string; maximum?: number } } }[];
};
const definitionOf = (schema: z.ZodType) => schema._zod.def as unknown as Definition;

/** The places of a schema that take a text, each as what makes of a text the JSON of the whole value. */
function textsIn(
  schema: z.ZodType,
  name: string,
  around: (json: string) => string,
): { name: string; max: number; json: (text: string) => string }[] {
  const { type, innerType, in: input, element, options, shape, valueType, checks } = definitionOf(schema);
  const inner = innerType ?? input;
  if (inner) return textsIn(inner, name, around);
  if (options) return options.flatMap((one) => textsIn(one, name, around));
  if (type === 'string') {
    const max = checks?.find(({ _zod }) => _zod.def.check === 'max_length')?._zod.def.maximum ?? 4_096;
    return [{ name, max, json: (text) => around(JSON.stringify(text)) }];
  }
  if (type === 'array' && element) return textsIn(element, `${name}[]`, (json) => around(`[${json}]`));
  if (type === 'record' && valueType) return [{ name: `${name}{}`, max: 8_000, json: (text) => around(`{${JSON.stringify(text)}:${JSON.stringify(text)}}`) }]; // prettier-ignore
  if (type !== 'object') return [];
  return Object.entries(shape ?? {}).flatMap(([member, one]) => {
    const others = Object.entries(shape ?? {})
      .filter(([other]) => other !== member)
      .flatMap(([other, each]) => valuesOf(each, 1).map((value) => `${JSON.stringify(other)}:${JSON.stringify(value)}`));
    return textsIn(one, `${name}.${member}`, (json) => around(`{${[`"${member}":${json}`, ...others].join()}}`));
  });
}

function operations(): Operation[] {
  const found: Operation[] = [];
  for (const resource of registry.byPath.values()) {
    const { path, type, create, update, actions = {}, relationships, maxBytes: limit = bodyLimits.document } = resource;
    const id = String(records.get(path)?.['id'] ?? '00000000-0000-7000-8000-000000000000');
    const at = `/${path}/${encodeURIComponent(id)}`;
    if (resource.routed === false) continue;
    if (create) found.push({ name: `create ${type}`, method: 'POST', path: `/${path}`, limit, schema: create.schema, document: (members) => `{"data":{"type":"${type}","attributes":{${members}}}}` }); // prettier-ignore
    if (update) found.push({ name: `update ${type}`, method: 'PATCH', path: at, limit, schema: update.schema, document: (members) => `{"data":{"type":"${type}","id":${JSON.stringify(id)},"attributes":{${members}}}}` }); // prettier-ignore
    for (const [verb, { input, method }] of Object.entries(actions))
      if (input) found.push({ name: `${verb} ${type}`, method, path: `${at}/${verb}`, limit: bodyLimits.document, schema: input, document: (members) => `{"meta":{${members}}}` }); // prettier-ignore
    for (const [name, one] of Object.entries(relationships))
      if (one.kind === 'many' && one.change)
        for (const method of ['POST', 'DELETE', ...(one.change.replaces ? ['PATCH'] : [])])
          found.push({ name: `${method} ${name} of ${type}`, method, path: `${at}/relationships/${name}`, limit: bodyLimits.document, schema: null, document: (members) => `{${members}}` }); // prettier-ignore
  }
  for (const { name, method, path, input, maxBytes = bodyLimits.document } of endpoints)
    if (input) found.push({ name, method, path: `/${path}`, limit: maxBytes, schema: input, document: (members) => `{"meta":{${members}}}` }); // prettier-ignore
  return found;
}

/** The bodies for an operation: each shape over the whole of it, in each of its members, and as each text at its greatest length. */
function* bodiesOf({ schema, document, limit }: Operation): Generator<{ name: string; text?: string; body: string }> {
  const room = limit - document('').length - 200;
  for (const [shape, make] of Object.entries(hostileMembers)) yield { name: shape, body: document(make(room * 0.95)) };
  const shape = Object.entries(schema?.shape ?? {}) as [string, z.ZodType][];
  const valid = shape.flatMap(([name, one]) =>
    valuesOf(one, 1).map((value): [string, string] => [name, `"${name}":${JSON.stringify(value)}`]),
  );
  const beside = (member: string) => valid.filter(([name]) => name !== member).map(([, json]) => json);
  const members = shape.length === 0 ? ['data'] : shape.map(([name]) => name);
  // Each shape in one member at least, and each member with one shape at least: all of both would be ten thousand large bodies.
  const shapes = Object.entries(hostileValues);
  for (let turn = 0; turn < Math.max(members.length, shapes.length); turn += 1) {
    const member = members[turn % members.length] as string;
    const [name, make] = shapes[turn % shapes.length] as [string, (bytes: number) => string];
    yield { name: `${name} in ${member}`, body: document([`"${member}":${make(room * 0.9)}`, ...beside(member)].join()) };
  }
  for (const [member, one] of shape)
    for (const { name, max, json } of textsIn(one, member, (inner) => inner))
      for (const [hostile, make] of Object.entries(hostileTexts))
        yield { name: `${hostile} in ${name}`, text: name, body: document([`"${member}":${json(make(Math.min(max, room / 3)))}`, ...beside(member)].join()) }; // prettier-ignore
}

async function post(method: string, path: string, body: Buffer, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json', accept: 'application/vnd.api+json' };
  const response = await send(`${service.url}/api${path}`, { method: method as 'POST', headers, body });
  await response.body.dump();
  return response.statusCode;
}

test('no document of the Management API holds the event loop, whatever its shape (attack 18.975)', async () => {
  const slow: string[] = [];
  let [walked, requests] = [0, 0];
  const attributes = new Set<string>();
  const statuses = new Map<number, number>();
  let worst = { name: '', ms: 0 };
  for (const operation of operations()) {
    walked += 1;
    for (const { name, text, body } of bodiesOf(operation)) {
      const bytes = Buffer.from(body);
      if (bytes.length > operation.limit) throw new Error(`${operation.name}, ${name}: ${bytes.length} bytes are too many for the test`);
      const { status, ms } = await costOf(() => post(operation.method, operation.path, bytes, api.token as string));
      requests += 1;
      if (text !== undefined) attributes.add(`${operation.name} ${text}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (ms > worst.ms) worst = { name: `${operation.name}, ${name}`, ms };
      if (ms > most || status >= 500) slow.push(`${operation.name}, ${name} (${bytes.length} bytes): ${status} after ${ms.toFixed(0)} ms`);
    }
  }
  console.info(`${walked} operations, ${attributes.size} texts, ${requests} requests`, Object.fromEntries(statuses), worst);
  expect(slow).toEqual([]);
  expect([walked >= 50, attributes.size >= 100, requests >= 1_500]).toEqual([true, true, true]);
}, 900_000);

test('what takes the square of a text is seen', async () => {
  const quadratic = async () => Number(/ +$/.test(`${' '.repeat(20_000)}x`));
  expect((await costOf(quadratic)).ms).toBeGreaterThan(most);
  expect((await costOf(async () => Number(/ +$/.test(`${' '.repeat(200)}x`)))).ms).toBeLessThan(most);
});

test('a body is read of those alone who have the permission of its address (attack 18.977)', async () => {
  const token = await managementToken(service.url, managementClient, { scope: 'audit_logs:read' });
  const told: [string, number][] = [];
  for (const { name, method, path, limit } of operations())
    told.push([name, await post(method, path, Buffer.alloc(limit + 1, '{'), token)]);
  expect(told.filter(([, status]) => status !== 403)).toEqual([]);
});
