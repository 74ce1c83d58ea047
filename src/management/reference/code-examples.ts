import { shellWord } from '../../lib/shell-word.js';

type ExampleRequest = { readonly base: string; readonly method: string; readonly path: string; readonly body: unknown };

/** What stands for the id of the record within a body. */
export const ownId = '$ID';

const mediaType = 'application/vnd.api+json';

/** A command that can be pasted: the shell's `$TOKEN` stands for the access token, `$ID` for the id of the record. */
export function curlOf({ base, method, path, body }: ExampleRequest): string {
  const lines = [`curl -X ${method} "${base}${path.replaceAll(/\{\w+\}/g, '$ID')}"`, `-H "Authorization: Bearer $TOKEN"`];
  if (body !== undefined)
    lines.push(
      `-H "Content-Type: ${mediaType}"`,
      `-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll(`"${ownId}"`, `"'"$ID"'"`)}'`,
    );
  return lines.join(' \\\n  ');
}

/** JSON as JavaScript is written: members without quotes where they need none, texts in single quotes. */
function literal(value: unknown, depth: number): string {
  const inner = '  '.repeat(depth + 1);
  const end = '  '.repeat(depth);
  if (value === ownId) return 'ID';
  if (typeof value === 'string') return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map((one) => literal(one, depth)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, one]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`;
    return `${inner}${key}: ${literal(one, depth + 1)},\n`;
  });
  return members.length === 0 ? '{}' : `{\n${members.join('')}${end}}`;
}

/**
 * A module that can be run as it stands by Node.js, as TypeScript or JavaScript; `TOKEN` and `ID` of its environment are the access token and the id
 * of the record. It logs what the API answers.
 * @param answers whether there is a document to read: not with 204
 */
export function typescriptOf({ base, method, path, body }: ExampleRequest, answers: boolean): string {
  const usesId = /\{\w+\}/.test(path);
  const address = `\`${base}${path.replaceAll(/\{\w+\}/g, '${ID}')}\``;
  const headers = ['    authorization: `Bearer ${TOKEN}`,', ...(body === undefined ? [] : [`    'content-type': '${mediaType}',`])];
  const lines = [
    `import { env } from 'node:process';`,
    '',
    `const { ${usesId ? 'ID, TOKEN' : 'TOKEN'} } = env;`,
    '',
    `const response = await fetch(${usesId ? address : `'${base}${path}'`}, {`,
    `  method: '${method}',`,
    '  headers: {',
    ...headers,
    '  },',
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, 1)}),`]),
    '});',
    'if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);',
    ...(answers ? ['const document = await response.json();', 'console.log(document);'] : []),
  ];
  return lines.join('\n');
}

type Body = {
  readonly data?: { readonly attributes?: object; readonly relationships?: object } | readonly { readonly id: string }[];
  readonly meta?: object;
};

/** The options by which the command line is told a value: lists of texts one by one, whatever else isn't text as JSON. */
const optionsOf = (members: object = {}): string[] =>
  Object.entries(members).flatMap(([name, value]: [string, unknown]) => {
    const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
    const texts = isList ? (value as string[]) : [typeof value === 'string' ? value : JSON.stringify(value)];
    return texts.map((text) => `--${name.replaceAll('_', '-')} ${shellWord(text)}`);
  });

const linkedIds = (relationships: object = {}): object =>
  Object.fromEntries(
    Object.entries(relationships).map(([name, { data }]: [string, { data: { id: string } | { id: string }[] }]) => [
      name,
      Array.isArray(data) ? data.map(({ id }) => id) : data.id,
    ]),
  );

const recordWords = { GET: 'get', PATCH: 'update', DELETE: 'delete' } as const;
const linkageWords = { POST: 'add', PATCH: 'replace', DELETE: 'remove' } as const;

/** What the command line calls an operation; null where it has no command for it. */
function wordsOf({ method, path }: ExampleRequest): string[] | null {
  const [, collection = '', id, rest, relationship] =
    /^\/api\/([^/]+)(?:\/(\{\w+\})(?:\/(?:relationships\/(\w+)|(\w+)))?)?$/.exec(path) ?? [];
  if (collection === '') return null;
  if (id === undefined) return [collection, method === 'GET' ? 'list' : 'create'];
  if (rest !== undefined) return method === 'GET' ? null : [collection, `${linkageWords[method as 'POST']}_${rest}`, '"$ID"'];
  return [collection, relationship ?? recordWords[method as 'GET'], '"$ID"'];
}

/**
 * The same on the command line; as whoever signed in (`idp login`) or with the token in `IDP_TOKEN`; `$ID` stands for the id of the record.
 * @param called the words of an endpoint that concerns no single record
 */
export function idpOf(request: ExampleRequest, called: readonly string[] | null): string | null {
  const words = called ?? wordsOf(request);
  if (words === null) return null;
  // The command reads the document where it runs.
  if (words[0] === 'config' && request.body !== undefined) return `idp --url ${shellWord(request.base)} ${words.join(' ')} -f config.yaml`;
  const { data, meta } = (request.body ?? {}) as Body;
  const given =
    data === undefined
      ? optionsOf(meta)
      : 'attributes' in data || 'relationships' in data
        ? [...optionsOf(data.attributes), ...optionsOf(linkedIds(data.relationships))]
        : (data as readonly { id: string }[]).map(({ id }) => shellWord(id));
  return [`idp --url ${shellWord(request.base)} ${words.join(' ')}`, ...given].join(' \\\n  ');
}

/** How a client gets an access token for itself, by its `CLIENT_ID` and `CLIENT_SECRET` (RFC 6749 4.4). */
export function tokenExamples(
  issuer: string,
  resource: string,
): { readonly curl: string; readonly typescript: string; readonly idp: string } {
  const curl = `TOKEN=$(curl -s -u "$CLIENT_ID:$CLIENT_SECRET" "${issuer}/oauth/token" \\
  -d grant_type=client_credentials -d "resource=${resource}" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;
  const typescript = `import { env } from 'node:process';

const { CLIENT_ID, CLIENT_SECRET } = env;

const response = await fetch('${issuer}/oauth/token', {
  method: 'POST',
  headers: { authorization: \`Basic \${btoa(\`\${CLIENT_ID}:\${CLIENT_SECRET}\`)}\` },
  body: new URLSearchParams({ grant_type: 'client_credentials', resource: '${resource}' }),
});
if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);
const { access_token } = await response.json();
console.log(access_token);`;
  return { curl, typescript, idp: `idp --url ${shellWord(issuer)} login` };
}
