import { gzipSync } from 'node:zlib';
import { request as send } from 'undici';
import { userImportPass } from '../../src/process/user-imports.js';
import type { Api, ApiAnswer, Document } from './management.js';
import type { TestService } from './service.js';

export type Row = Document;

export const ndjson = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Sends a file, or a part of it, to an import. */
export async function sendData(api: Api, id: string, data: string | Buffer, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  const answer = await send(`${api.origin}/api/user_imports/${id}/data`, {
    method: 'PUT',
    headers: {
      ...(api.host && { host: api.host }),
      authorization: `Bearer ${api.token}`,
      'content-type': 'application/x-ndjson',
      ...headers,
    },
    body: Buffer.from(data as string),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: new Headers(), text, body: JSON.parse(text || '{}') as Document };
}

/** Works off all imports that wait. */
export async function runImports(service: TestService): Promise<void> {
  while ((await userImportPass(service.deps)) === 'more');
}

/** Those of one line stand in any order. */
const inOrder = ([line, code]: readonly unknown[], [other, name]: readonly unknown[]) =>
  Number(line) - Number(other) || String(code).localeCompare(String(name));

/** Imports rows and answers the import's attributes at its end, with its row errors. */
export async function imported(
  service: TestService,
  api: Api,
  rows: readonly Row[] | string,
  attributes: Document = {},
): Promise<Document> {
  const { id } = await api.create('user_imports', { mode: 'create', ...attributes });
  const text = typeof rows === 'string' ? rows : ndjson(rows);
  const answer = await sendData(api, id, gzipSync(text), { 'content-encoding': 'gzip' });
  if (answer.status !== 200) throw new Error(answer.text);
  await runImports(service);
  const { attributes: found } = (await api.get(`/user_imports/${id}`)).body['data'];
  const errors = (await api.get(`/user_imports/${id}/row_errors?page[size]=100`)).body['data'] as Document[];
  return { ...found, id, errors: errors.map(({ attributes: { line, code, pointer } }) => [line, code, pointer]).sort(inOrder) };
}
