import { InvalidArgumentError, type Command } from 'commander';
import { administratorRole } from '../../domain/reach/management-permissions.js';
import { named, own } from '../../lib/named.js';
import { callApi, CliError, openApi, type ApiRecord } from './api.js';
import { one, type Shell } from './shell.js';

/** Collections whose records `update` changes, with the type of their documents. */
const updatable = named({
  clients: 'client',
  connections: 'connection',
  environments: 'environment',
  log_streams: 'log_stream',
  mail_templates: 'mail_template',
  page_texts: 'page_text',
  webhooks: 'webhook',
});

/** JSON where the text is JSON that isn't a text (a number, `true`, `null`, a list), else the text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/**
 * Attributes of words like `--lockout-threshold 10`. An attribute that is a list gets its values one by one (`list`).
 * @throws {CliError} for a word that is neither
 */
export function attributesIn(words: readonly string[], isList: (name: string) => boolean): Record<string, unknown> {
  const attributes: Record<string, unknown> = named();
  for (let index = 0; index < words.length; index += 2) {
    const [option = '', text] = words.slice(index, index + 2);
    if (!/^--[a-z][a-z0-9-]*$/.test(option) || text === undefined) throw new CliError(`${option}: name attributes as --name value`);
    const name = option.slice(2).replaceAll('-', '_');
    const value = valueOf(text);
    const before = own(attributes, name);
    attributes[name] = !isList(name) || Array.isArray(value) ? value : [...((before as unknown[] | undefined) ?? []), value];
  }
  return attributes;
}

function addUpdate(program: Command, collection: string, type: string, { options, show }: Shell): void {
  const commands = program.command(collection).description(`change ${collection}`);
  commands
    .command('update <id>')
    .description('change attributes, named as in the Management API: --lockout-threshold 10')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (id: string, _given: unknown, command: Command) => {
      const call = openApi(options());
      const path = `/${collection}/${encodeURIComponent(id)}`;
      const { attributes: present } = one((await call('GET', path)).data);
      const attributes = attributesIn(command.args.slice(1), (name) => Array.isArray(present[name]));
      if (Object.keys(attributes).length === 0) throw new InvalidArgumentError('Name what to change: --status disabled');
      const { data } = await call('PATCH', path, { document: { data: { type, id, attributes } } });
      show(data, () => `changed: ${id}`);
    });
}

function addSigningKeys(program: Command, { options, show }: Shell): void {
  const commands = program.command('signing_keys').description('make and activate signing keys');
  commands
    .command('create')
    .description('publish a next key; the service lets it sign when verifiers have had a day to see it')
    .option('--algorithm <algorithm>', 'RS256 unless given')
    .action(async (attributes: { algorithm?: string }) => {
      const { data } = await callApi(options(), 'POST', '/signing_keys', { data: { type: 'signing_key', attributes } });
      show(data, () => `next: ${one(data).id}`);
    });
  commands
    .command('activate <kid>')
    .description('let the next key sign at once')
    .action(async (kid: string) => {
      const { data } = await callApi(options(), 'PATCH', `/signing_keys/${encodeURIComponent(kid)}/activate`);
      show(data, () => `primary: ${kid}`);
    });
}

function addCreateAdministrator(program: Command, { options, show }: Shell): void {
  program
    .command('create-administrator <email>')
    .description('give somebody the role administrator; somebody new chooses a password by mail')
    .action(async (email: string) => {
      const call = openApi(options());
      const roles = (await call('GET', '/roles?page[size]=100')).data as ApiRecord[];
      const role = roles.find(({ attributes }) => attributes['name'] === administratorRole);
      if (!role) throw new CliError('there is no role administrator');
      const [known] = (await call('GET', `/users?${new URLSearchParams({ 'filter[email]': email })}`)).data as ApiRecord[];
      const linkage = [{ type: 'role', id: role.id }];
      if (known) {
        await call('POST', `/users/${known.id}/relationships/roles`, { document: { data: linkage } });
        return show(known, () => `administrator: ${email}`);
      }
      const document = { data: { type: 'user', attributes: { email }, relationships: { roles: { data: linkage } } } };
      const { data } = await call('POST', '/users', { document });
      await call('POST', `/users/${one(data).id}/send_password_reset`);
      return show(data, () => `administrator: ${email}, who gets a mail to choose a password`);
    });
}

/** Commands on single records: what the doctor names as fixes. */
export function addRecordCommands(program: Command, shell: Shell): void {
  for (const [collection, type] of Object.entries(updatable)) addUpdate(program, collection, type, shell);
  addSigningKeys(program, shell);
  addCreateAdministrator(program, shell);
}
