import type { ReferencePage } from './page-models.js';
import type { OpenApiDocument } from '../openapi/document.js';
import { endpoints } from '../calls/index.js';
import { curlOf, idpOf, ownId, typescriptOf } from './code-examples.js';
import { exampleOf } from '../openapi/example.js';
import { titleOf } from '../declaration.js';

type Schema = Record<string, unknown>;
type Parameter = { name: string; in: string; description?: string; schema?: Schema };
type Operation = {
  operationId: string;
  summary: string;
  tags: string[];
  security?: { oauth2?: string[] }[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
};

const methods = ['get', 'post', 'patch', 'delete'] as const;

function typeOf(schema: Schema): string {
  if (schema['enum']) return (schema['enum'] as unknown[]).join(' | ');
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  const options = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  if (options) return [...new Set(options.map(typeOf))].join(' or ');
  const type = ([schema['type'] ?? 'any'].flat() as string[]).join(' or ');
  if (schema['format'] === 'date-time') return type.replace('string', 'time');
  return type === 'array' && schema['items'] ? `array of ${typeOf(schema['items'] as Schema)}` : type;
}

/** An example of a change names the record that its address does. */
function ofRecord(body: unknown): unknown {
  const { data } = Object(body) as { data?: { id?: string } };
  return data?.id === undefined ? body : { ...Object(body), data: { ...data, id: ownId } };
}

export function referenceModel(document: OpenApiDocument): Pick<ReferencePage, 'base_url' | 'introduction' | 'sections'> {
  const components = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const base_url = document.servers?.[0]?.url ?? '';
  const paths = Object.entries(document.paths ?? {}) as [string, Record<string, Operation>][];
  const operations = paths.flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (!operation) return [];
      const schema = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
      const example = { base: base_url, method: method.toUpperCase(), path, body: schema && ofRecord(exampleOf(schema, components)) };
      return [
        {
          tag: operation.tags[0] ?? '',
          id: operation.operationId,
          method: method.toUpperCase(),
          path,
          summary: operation.summary,
          permissions: operation.security?.[0]?.oauth2 ?? [],
          parameters: (operation.parameters ?? [])
            .filter((one) => one.in !== 'path')
            .map((one) => ({ name: one.name, location: one.in, description: one.description ?? '' })),
          statuses: Object.keys(operation.responses),
          curl: curlOf(example),
          idp: idpOf(example, endpoints.find((one) => `/api/${one.path}` === path && one.method === example.method)?.words ?? null),
          typescript: typescriptOf(example, !('204' in operation.responses)),
        },
      ];
    }),
  );
  const tags = (document.tags ?? []).filter((tag) => operations.some((operation) => operation.tag === tag.name));
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter((operation) => operation.tag === name);
    const type = own.find((operation) => operation.id.startsWith('get_'))?.id.slice(4) ?? name;
    const attributes = ((components[type]?.['properties'] as Schema | undefined)?.['attributes'] as Schema | undefined)?.['properties'] as
      Record<string, Schema> | undefined;
    return {
      id: name,
      title: titleOf(name),
      description: description ?? '',
      type,
      attributes: Object.entries(attributes ?? {}).map(([attribute, schema]) => ({
        name: attribute,
        type: typeOf(schema),
        description: (schema['description'] ?? '') as string,
      })),
      operations: own,
    };
  });
  return { base_url, introduction: (document.info.description ?? '').split('\n\n'), sections };
}
