import { Option, type Command } from 'commander';
import type { AuthenticatorKind } from '../../db/tables/authenticators.js';
import { callApi, CliError, openApi, type CallApi, type ApiRecord } from './api.js';
import { importFile } from './import-authenticators.js';
import { columns, one, type Shell } from './shell.js';

const kinds = { passkey: true, totp: true, recovery_codes: true } as const satisfies Record<AuthenticatorKind, true>;

/** The user whom an address or an id names. @throws {CliError} */
async function userNamed(call: CallApi, name: string): Promise<ApiRecord> {
  if (!name.includes('@')) return one((await call('GET', `/users/${encodeURIComponent(name)}`)).data);
  const { data } = await call('GET', `/users?${new URLSearchParams({ 'filter[email]': name })}`);
  const [found] = data as ApiRecord[];
  if (!found) throw new CliError(`there is no user ${name}`);
  return found;
}

const userIdOf = (record: ApiRecord) => (record.relationships?.['user']?.data as { id?: string } | undefined)?.id ?? '';

export function addListAuthenticators(program: Command, { options, show }: Shell): void {
  program
    .command('list-authenticators')
    .description('passkeys, authenticator apps and recovery codes, the latest first; never a key or a secret')
    .option('--user <user>', 'of this user: an address or an id')
    .addOption(new Option('--kind <kind>').choices(Object.keys(kinds)))
    .addOption(new Option('--status <status>').choices(['active', 'pending']))
    .option('--limit <number>', '1 to 100', '25')
    .action(async (given: { user?: string; kind?: string; status?: string; limit: string }) => {
      const call = openApi(options());
      const user = given.user === undefined ? undefined : (await userNamed(call, given.user)).id;
      const query = new URLSearchParams({ 'page[size]': given.limit, include: 'user' });
      for (const [name, value] of Object.entries({ user, kind: given.kind, status: given.status }))
        if (value !== undefined) query.set(`filter[${name}]`, value);
      const { data, included } = await call('GET', `/authenticators?${query}`);
      const addressOf = new Map(included.map(({ id, attributes }) => [id, String(attributes['email'])]));
      const cells = (record: ApiRecord) => {
        const { attributes: a } = record;
        const owner = addressOf.get(userIdOf(record)) ?? userIdOf(record);
        return [record.id, owner, a['kind'], a['name'], a['status'], a['codes_left'] ?? '-', a['last_used_at'] ?? 'never'].map(String);
      };
      const head = ['id', 'user', 'kind', 'name', 'status', 'codes_left', 'last_used_at'];
      show(data, () => columns([head, ...(data as ApiRecord[]).map(cells)]));
    });
}

export function addResetAuthenticators(program: Command, { options, show }: Shell): void {
  program
    .command('reset-authenticators <user>')
    .description('remove everything that somebody who lost it signs in with beside the password; an address or an id')
    .option('--yes', 'do it: sessions and tokens of the user end, and the user is told by mail')
    .action(async (name: string, given: { yes?: true }) => {
      const user = await userNamed(openApi(options()), name);
      const email = String(user.attributes['email']);
      const kinds = (user.attributes['authenticator_kinds'] as string[] | undefined) ?? [];
      if (!given.yes)
        throw new CliError(
          `this removes for good what ${email} signs in with beside the password (${kinds.join(', ') || 'nothing'}), and ends all sessions and tokens: add --yes`,
        );
      const { data } = await callApi(options(), 'PATCH', `/users/${user.id}/reset_authenticators`);
      show(data, () => `reset: ${email}`);
    });
}

export function addImportAuthenticators(program: Command, { options, print }: Shell): void {
  program
    .command('import-authenticators <file>')
    .description(
      'move in authenticators of another system: a JSON object a line, with user (an address or an id) and the attributes of POST /authenticators',
    )
    .option('--dry-run', 'only check every line')
    .action(async (file: string, given: { dryRun?: true }) => {
      await importFile({ access: options(), file, dryRun: given.dryRun === true, print });
    });
}
