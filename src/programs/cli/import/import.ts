import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { CliError, openApi, readPatiently, type ApiRecord, type CallApi } from '../api.js';
import { one, type Shell } from '../shell.js';
import { uploadTo, wholeFile } from '../upload.js';
import { products, type Product, type MovedRow } from './products.js';

const pauseMs = 500;
const shownErrors = 20;

type Given = {
  readonly upsert?: true;
  readonly dryRun?: true;
  readonly addressesProven?: true;
  readonly events?: true;
  readonly roles?: true;
  readonly pendingMigration?: true;
  readonly connection?: string[];
  readonly hashes?: string;
  readonly print?: true;
};

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} can not be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

/** The pairs of `--connection google=corporate-google`. @throws {CliError} */
const connectionsOf = (given: readonly string[] = []): Map<string, string> =>
  new Map(
    given.map((pair) => {
      const [, there, here] = /^([^=]+)=(.+)$/.exec(pair) ?? [];
      if (there === undefined || here === undefined) throw new CliError(`--connection ${pair}: say PROVIDER=CONNECTION`);
      return [there, here] as const;
    }),
  );

function rowsOf(product: Product, file: string, content: string, given: Given, hashes: string | null): MovedRow[] {
  try {
    return product.rows(content, { connections: connectionsOf(given.connection), roles: given.roles === true, hashes });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} is not ${product.about}: ${String(error)}`);
  }
}

async function waitFor(call: CallApi, id: string): Promise<ApiRecord> {
  for (;;) {
    const record = one((await readPatiently(call, `/user_imports/${id}`)).data);
    if (record.attributes['finished_at'] !== null) return record;
    await sleep(pauseMs);
  }
}

/** What was refused, by the lines of the file that was sent. */
async function errorsOf(call: CallApi, id: string): Promise<string[]> {
  const { data } = await call('GET', `/user_imports/${id}/row_errors?page[size]=${shownErrors}`);
  return (data as ApiRecord[]).map(({ attributes: a }) => `row ${String(a['line'])}: ${String(a['code'])} ${(a['pointer'] as string | null) ?? ''} ${String(a['detail'])}`); // prettier-ignore
}

function summaryOf({ id, attributes: a }: ApiRecord): string {
  const counts = ['created', 'updated', 'unchanged', 'failed'].map((name) => `${String(a[`${name}_count`])} ${name}`);
  return `${a['dry_run'] === true ? 'dry run ' : ''}${String(a['status'])}: ${counts.join(', ')} of ${String(a['row_count'])} (import ${id})`;
}

async function run(product: Product, files: readonly string[], given: Given, { options, show, print }: Shell): Promise<void> {
  const hashes = given.hashes === undefined ? null : await textOf(given.hashes);
  const rows: MovedRow[] = [];
  for (const file of files) rows.push(...rowsOf(product, file, await textOf(file), given, hashes));
  if (given.pendingMigration) for (const row of rows) if (row['password_hash'] === undefined) row['pending_migration'] = true;
  const content = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  if (given.print) return print(content.trimEnd());
  if (rows.length === 0) throw new CliError('the file has no users');
  const call = openApi(options());
  const attributes = {
    mode: given.upsert ? 'upsert' : 'create',
    dry_run: given.dryRun === true,
    addresses_proven: given.addressesProven === true,
    emit_events: given.events === true,
    ...(hashes !== null && product.parameters && { hash_parameters: product.parameters(hashes) }),
  };
  const { id } = one((await call('POST', '/user_imports', { document: { data: { type: 'user_import', attributes } } })).data);
  await uploadTo(call, `/user_imports/${id}`, wholeFile(gzipSync(content)));
  const record = await waitFor(call, id);
  const failed = Number(record.attributes['failed_count']) > 0 || record.attributes['status'] === 'failed';
  const errors = failed ? await errorsOf(call, id) : [];
  if (failed)
    throw new CliError([...errors, (record.attributes['error'] as string | null) ?? '', summaryOf(record)].filter(Boolean).join('\n'));
  show(record, () => summaryOf(record));
}

/** `import keycloak|auth0|firebase|cognito|django|ndjson FILE...` */
export function addImport(program: Command, shell: Shell): void {
  const group = program.command('import').description('bring the users of another system, and wait until they are here');
  const collect = (value: string, earlier: string[] = []) => [...earlier, value];
  for (const [name, product] of Object.entries(products)) {
    const command = group
      .command(`${name} <files...>`)
      .description(product.about)
      .option('--dry-run', 'only say what would become of each row')
      .option('--upsert', 'change users who are here already')
      .option('--addresses-proven', 'addresses that the file calls verified count as proven here')
      .option('--events', 'tell webhooks of each user')
      .option('--roles', 'give the roles of the same names')
      .option('--pending-migration', 'the first password of whoever has no hash here is checked at password_migration_url')
      .option(
        '--connection <pair>',
        'PROVIDER=CONNECTION: accounts there become accounts at a connection here; may be given several times',
        collect,
      )
      .option('--print', 'print the rows, and send nothing');
    if (product.second !== undefined) command.option('--hashes <file>', product.second);
    command.action((files: string[], given: Given) => run(product, files, given, shell));
  }
}
