import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { CliError, openApi, type Access, type CallApi, type ApiRecord } from './api.js';
import type { Print } from './shell.js';

type Json = Record<string, unknown>;
/** A line of the file: its number from 1, and what it says. */
type Line = { readonly number: number; readonly user: string; readonly attributes: Json; readonly key: string };
type Wrong = { readonly number: number; readonly text: string };

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

function readLine(number: number, text: string): Line | Wrong {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { number, text: 'this is not JSON' };
  }
  if (!isObject(value)) return { number, text: 'this is not a JSON object' };
  const { user, ...attributes } = value;
  if (typeof user !== 'string' || user === '') return { number, text: 'user is missing: an address or an id' };
  // The same line again is the same request, which the service answers without doing it twice.
  return { number, user, attributes, key: `import-${createHash('sha256').update(text).digest('hex')}` };
}

const isWrong = (line: Line | Wrong): line is Wrong => 'text' in line;

/** The lines of the file that say something. @throws {CliError} */
async function linesOf(file: string): Promise<(Line | Wrong)[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} can not be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
  return content.split(/\r?\n/).flatMap((text, index) => (text.trim() === '' ? [] : [readLine(index + 1, text.trim())]));
}

/** What is wrong with the attributes of a line, by the rules of the service itself. */
type Judge = (attributes: Json) => string[];

/** The domain of passkeys is that of the environment at the address. @throws {CliError} */
async function judgeOf(call: CallApi, { url }: Access): Promise<Judge> {
  const [{ moveInProblems }, { authenticators }] = await Promise.all([
    import('../../domain/credentials/authenticator-move-in.js'),
    import('../../management/resources/authenticators.js'),
  ]);
  const { data } = await call('GET', '/environments?page[size]=100');
  const environment = (data as ApiRecord[]).find(({ attributes: a }) => a['base_url'] === url || a['issuer'] === url);
  if (!environment) throw new CliError(`the service has no environment at ${url}`);
  const { passkey_rp_id, issuer } = environment.attributes as { passkey_rp_id: string | null; issuer: string };
  const schema = authenticators.create?.schema as z.ZodObject;
  return (attributes) => {
    const parsed = schema.safeParse(attributes);
    if (!parsed.success) return parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
    const problems = moveInProblems({ environment: { passkey_rp_id, issuer } }, parsed.data);
    return problems.map(({ attribute, detail }) => `${[attribute ?? ''].flat().join('.')}: ${detail}`);
  };
}

const addressesPerRequest = 20;

/** The ids of the people whom the lines name, by address or id as it stands there. */
async function peopleOf(call: CallApi, lines: readonly Line[]): Promise<Map<string, string>> {
  const names = [...new Set(lines.map(({ user }) => user))];
  const found = new Map<string, string>();
  const addresses = names.filter((name) => name.includes('@') && !name.includes(','));
  for (let from = 0; from < addresses.length; from += addressesPerRequest) {
    const some = addresses.slice(from, from + addressesPerRequest);
    const { data } = await call(
      'GET',
      `/users?${new URLSearchParams({ 'filter[email]': some.join(','), 'page[size]': String(addressesPerRequest) })}`,
    );
    const idOf = new Map((data as ApiRecord[]).map(({ id, attributes }) => [String(attributes['email']).toLowerCase(), id]));
    for (const address of some) found.set(address, idOf.get(address.toLowerCase()) ?? '');
  }
  for (const name of names.filter((one) => !one.includes('@'))) {
    try {
      found.set(name, ((await call('GET', `/users/${encodeURIComponent(name)}`)).data as ApiRecord).id);
    } catch (error) {
      if (!(error instanceof CliError) || error.status !== 404) throw error;
      found.set(name, '');
    }
  }
  return found;
}

/** Lines that bear a credential id which an earlier one has. */
function repeated(lines: readonly Line[]): Wrong[] {
  const first = new Map<unknown, number>();
  return lines.flatMap(({ number, attributes }) => {
    const id = attributes['credential_id'];
    if (typeof id !== 'string') return [];
    const earlier = first.get(id);
    if (earlier !== undefined) return [{ number, text: `credential_id: line ${earlier} has the same` }];
    first.set(id, number);
    return [];
  });
}

const problemText = (wrong: readonly Wrong[]) =>
  [...wrong]
    .sort((one, other) => one.number - other.number)
    .map(({ number, text }) => `line ${number}: ${text}`)
    .join('\n');

/**
 * Checks every line of a file and, unless it is a dry run or a line is wrong, moves in what they say, one after the other. A line that was moved in
 * within the last day isn't moved in again.
 * @throws {CliError} with all that is wrong, by line
 */
export async function importFile({
  access,
  file,
  dryRun,
  print,
}: {
  access: Access;
  file: string;
  dryRun: boolean;
  print: Print;
}): Promise<void> {
  const read = await linesOf(file);
  const lines = read.filter((line): line is Line => !isWrong(line));
  const call = openApi(access);
  const judge = await judgeOf(call, access);
  const people = await peopleOf(call, lines);
  const wrong = [
    ...read.filter(isWrong),
    ...lines.flatMap(({ number, user, attributes }) => [
      ...(people.get(user) ? [] : [{ number, text: `there is no user ${user}` }]),
      ...judge(attributes).map((text) => ({ number, text })),
    ]),
    ...repeated(lines),
  ];
  const count = `${lines.length} authenticators of ${people.size} people`;
  if (wrong.length > 0) throw new CliError(`${problemText(wrong)}\nnothing was moved in`);
  if (dryRun) return print(`${count} can be moved in; nothing was`);
  const failed: Wrong[] = [];
  for (const { number, user, attributes, key } of lines) {
    const owner = { data: { type: 'user', id: people.get(user) } };
    const document = { data: { type: 'authenticator', attributes, relationships: { user: owner } } };
    try {
      await call('POST', '/authenticators', { document, key });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failed.push({ number, text: error.message });
    }
  }
  if (failed.length > 0) throw new CliError(`${problemText(failed)}\n${lines.length - failed.length} of ${lines.length} were moved in`);
  print(`${count} were moved in`);
}
