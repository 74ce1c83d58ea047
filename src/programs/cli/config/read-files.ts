import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { secretAttributes } from '../../../management/configuration/kinds.js';
import { secretReference } from '../../../management/configuration/document.js';
import { secretName } from '../../../management/configuration/secrets.js';
import { CliError } from '../api.js';
import { overlay } from './overlay.js';
import { parseLocated, plainOf, type Located } from './located.js';

const [maxBytes, maxSecretBytes] = [5 * 1024 * 1024, 64 * 1024];

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error);

/** @throws {CliError} when it can't be read or is too long */
async function textOf(file: string, limit: number): Promise<string> {
  try {
    // No further than that: a device or a pipe tells no size.
    const content = await buffer(createReadStream(file, { end: limit }));
    if (content.length > limit) throw new CliError(`${file} is longer than ${limit} bytes`);
    return content.toString('utf8');
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`${file} can not be read: ${codeOf(error)}`);
  }
}

/** The document of a file with the others laid over it in their order. @throws {CliError} */
export async function readFiles(files: readonly string[]): Promise<Located> {
  const documents: Located[] = [];
  for (const file of files) documents.push(parseLocated(await textOf(file, maxBytes), file));
  const [first, ...others] = documents;
  if (!first) throw new CliError('name a document: -f FILE');
  return others.reduce(overlay, first);
}

/** The references to secrets in a document, wherever they stand. */
function referencesIn(value: Located, name: string | null = null): Located[] {
  if (value.kind === 'list') return value.items.flatMap((item) => referencesIn(item));
  if (value.kind === 'scalar') return [];
  if (name !== null && secretAttributes.has(name)) return [value];
  return [...value.members].flatMap(([member, inner]) => referencesIn(inner, member));
}

/** The content of a file without the line break at its end; null when there is none. @throws {CliError} when it is there and can't be read */
async function secretIn(file: string): Promise<string | null> {
  try {
    await stat(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new CliError(`${file} can not be read: ${codeOf(error)}`);
  }
  return (await textOf(file, maxSecretBytes)).replace(/\r?\n$/, '');
}

/**
 * What the references of a document stand for, here and now: variables of this process, and files by paths from where it runs. What isn't there is
 * left out; the service says whether it is needed.
 */
export async function resolveSecrets(document: Located, variables: Readonly<NodeJS.ProcessEnv>): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  for (const reference of referencesIn(document)) {
    const parsed = secretReference.safeParse(plainOf(reference));
    if (!parsed.success) continue;
    const value = 'env' in parsed.data ? variables[parsed.data.env] : await secretIn(parsed.data.file);
    if (value !== undefined && value !== null && value !== '') found.push([secretName(parsed.data), value]);
  }
  return Object.fromEntries(found);
}
