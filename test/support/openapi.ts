import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Document, Exchange } from './management.js';
import { eventually } from './webhooks.js';

const jsonApi = 'application/vnd.api+json';

/** A path of the document with what a request's path must look like. */
type Template = { readonly template: string; readonly pattern: RegExp; readonly item: Document };

/** Looks operations up in an OpenAPI document and says how an exchange differs from it. */
export class OpenApi {
  private readonly templates: Template[];
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(readonly document: Document) {
    formats.default(this.ajv);
    this.ajv.addSchema({ $id: 'openapi', ...document });
    this.templates = Object.entries(document['paths'] as Document).map(([template, item]) => ({
      template,
      item: item as Document,
      pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    }));
  }

  /** Every operation, to be driven one after the other. */
  get operations(): { template: string; method: string; operation: Document }[] {
    return this.templates.flatMap(({ template, item }) =>
      Object.entries(item).map(([method, operation]) => ({ template, method: method.toUpperCase(), operation: operation as Document })),
    );
  }

  /** The most specific path that fits: literal segments before `{id}`. */
  private find(path: string): Template | undefined {
    return this.templates
      .filter(({ pattern }) => pattern.test(path))
      .sort((one, other) => one.template.split('{').length - other.template.split('{').length)[0];
  }

  /** What the document doesn't foresee about the exchange; empty when everything fits, or when it knows no such operation. */
  problems({ method, path, answer }: Exchange): string[] {
    const { pathname } = new URL(path.startsWith('http') ? path : `http://x/api${path}`);
    const found = this.find(pathname);
    const operation = found?.item[(method === 'HEAD' ? 'GET' : method).toLowerCase()] as Document | undefined;
    if (!found || !operation) return answer.status < 400 ? [`${method} ${pathname} is not in the document`] : [];
    const place = ['paths', found.template, method.toLowerCase(), 'responses', String(answer.status)];
    let response = operation['responses'][String(answer.status)] as Document | undefined;
    if (!response) return [`${method} ${found.template}: status ${answer.status} is not documented`];
    let pointer = place;
    if (response['$ref']) {
      pointer = (response['$ref'] as string).slice(2).split('/');
      response = this.document['components'].responses[pointer.at(-1) as string] as Document;
    }
    const content = response['content'] as Document | undefined;
    if (!content) return answer.text === '' ? [] : [`${method} ${found.template}: ${answer.status} has a body`];
    const type = answer.headers.get('content-type') ?? '';
    // A file: its type is all that is said of it.
    if (type !== jsonApi && Object.hasOwn(content, type)) return [];
    if (type !== jsonApi) return [`${method} ${found.template}: ${answer.status} is ${type}`];
    const escaped = [...pointer, 'content', jsonApi, 'schema'].map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    const validate = this.ajv.getSchema(`openapi#/${escaped.join('/')}`) ?? this.ajv.compile({ $ref: `openapi#/${escaped.join('/')}` });
    if (validate(answer.body)) return [];
    return (validate.errors ?? []).map((error) => `${method} ${found.template} ${answer.status}: ${error.instancePath} ${error.message}`);
  }

  problemsOf(exchanges: readonly Exchange[]): string[] {
    return [...new Set(exchanges.flatMap((exchange) => this.problems(exchange)))];
  }
}

/** Compiled once a worker: a service's own address is all that differs. */
const published = new Map<string, OpenApi>();

export async function publishedDocument(origin: string): Promise<OpenApi> {
  const answered = await eventually(async () => {
    const answer = await fetch(`${origin}/api/openapi.json`);
    return answer.ok && (await answer.text());
  });
  const text = answered.replaceAll(origin, 'http://x');
  const found = published.get(text) ?? new OpenApi(JSON.parse(text) as Document);
  published.set(text, found);
  return found;
}
