import { Command, InvalidArgumentError, Option } from 'commander';
import { callApi, type ApiRecord } from './api.js';
import { addImportAuthenticators, addListAuthenticators, addResetAuthenticators } from './authenticators.js';
import { addCreateAdministrator } from './create-administrator.js';
import { accessOf } from './credentials.js';
import { addImport } from './import/import.js';
import { addOnDemand } from './on-demand.js';
import { columns, one, outputs, present, type Output, type Print, type Shell } from './shell.js';
import { visibleJson, visibleLines } from './visible.js';

function originOf(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('It must be an http or https address.');
  return new URL(text).origin;
}

const collect = (value: string, earlier: string[] = []) => [...earlier, value];

function addCreateClient(program: Command, { options, show }: Shell): void {
  program
    .command('create-client <name>')
    .description('register a client; its secret is printed this once')
    .addOption(new Option('--type <type>', 'what kind of application').choices(['web', 'spa', 'native', 'machine']).default('web'))
    .option('--redirect-uri <uri>', 'may be given several times', collect)
    .option('--grant-type <type>', 'may be given several times', collect)
    .addOption(
      new Option('--id-token-claims <which>', 'what ID tokens say of the person; of web and spa clients the profile unless given').choices([
        'protocol',
        'profile',
      ]),
    )
    .action(async (name: string, given: { type: string; redirectUri?: string[]; grantType?: string[]; idTokenClaims?: string }) => {
      const attributes = present({
        name,
        application_type: given.type,
        redirect_uris: given.redirectUri,
        grant_types: given.grantType,
        id_token_claims: given.idTokenClaims ?? (['web', 'spa'].includes(given.type) ? 'profile' : undefined),
      });
      const { data } = await callApi(options(), 'POST', '/clients', { data: { type: 'client', attributes } });
      const { id, attributes: shown } = one(data);
      show(data, () =>
        columns([['client_id', id], ...(shown['client_secret'] ? [['client_secret', shown['client_secret'] as string]] : [])]),
      );
    });
}

function addCreateUser(program: Command, { options, show }: Shell): void {
  program
    .command('create-user <email>')
    .description('create a user; without a password the user chooses one by mail')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--password <password>')
    .option('--verified', 'the address counts as proven')
    .action(async (email: string, given: { firstName?: string; lastName?: string; password?: string; verified?: true }) => {
      const { firstName: first_name, lastName: last_name, password, verified: email_verified } = given;
      const attributes = present({ email, first_name, last_name, password, email_verified });
      const { data } = await callApi(options(), 'POST', '/users', { data: { type: 'user', attributes } });
      show(data, () =>
        columns([
          ['id', one(data).id],
          ['email', email],
        ]),
      );
    });
}

function addRotateSecret(program: Command, { options, show }: Shell): void {
  program
    .command('rotate-secret <kind> <id>')
    .description('make a new secret of a client or webhook; it is printed this once')
    .action(async (kind: string, id: string) => {
      if (kind !== 'client' && kind !== 'webhook') throw new InvalidArgumentError('The kind is client or webhook.');
      const { data } = await callApi(options(), 'PATCH', `/${kind}s/${encodeURIComponent(id)}/rotate_secret`);
      const name = kind === 'client' ? 'client_secret' : 'signing_secret';
      show(data, () => columns([[name, String(one(data).attributes[name])]]));
    });
}

function addListDeliveries(program: Command, { options, show }: Shell): void {
  program
    .command('list-deliveries')
    .description('the latest webhook deliveries')
    .option('--webhook <id>')
    .addOption(new Option('--status <status>').choices(['pending', 'retrying', 'succeeded', 'failed']))
    .option('--event-type <type>')
    .option('--limit <number>', '1 to 100', '25')
    .action(async (given: { webhook?: string; status?: string; eventType?: string; limit: string }) => {
      const filters = { webhook: given.webhook, status: given.status, event_type: given.eventType };
      const query = new URLSearchParams({ 'page[size]': given.limit });
      for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(`filter[${name}]`, value);
      const { data } = await callApi(options(), 'GET', `/webhook_deliveries?${query}`);
      const cells = ({ id, attributes: a }: ApiRecord) =>
        [id, a['created_at'], a['event_type'], a['status'], a['attempt_count'], a['last_response_status'] ?? '-'].map(String);
      show(data, () =>
        columns([['id', 'created_at', 'event_type', 'status', 'attempts', 'response'], ...(data as ApiRecord[]).map(cells)]),
      );
    });
}

function addRedeliverFailed(program: Command, { options, show }: Shell): void {
  program
    .command('redeliver-failed <webhook>')
    .description('send again what failed for good in a period and has not arrived since')
    .requiredOption('--since <time>', 'ISO 8601 with its zone, such as 2026-01-31T12:00:00Z')
    .option('--until <time>', 'the same; now unless given')
    .action(async (webhook: string, given: { since: string; until?: string }) => {
      const path = `/webhooks/${encodeURIComponent(webhook)}/redeliver_failed`;
      const { data, meta } = await callApi(options(), 'POST', path, { meta: present(given) });
      const rest = meta['more'] === true ? '; there may be more: run it again' : '';
      show(data, () => `${String(meta['deliveries'])} deliveries are under way${rest}`);
    });
}

/** What the commands have of the process that they run in. */
export type Surroundings = Pick<Shell, 'exit' | 'variables'> & { readonly name?: string };

const nowhere: Surroundings = { exit: () => undefined, variables: {} };

/** A command takes the options of the program too, but those that it has itself: what stands after it is its own. */
function globalOptions(program: Command): (command: Command) => void {
  const copies = new WeakSet<Option>();
  const adopt = (command: Command): void => {
    for (const option of program.options) {
      if (command.options.some(({ long }) => long === option.long)) continue;
      const copy = new Option(option.flags, option.description).hideHelp();
      if (option.argChoices) copy.choices(option.argChoices);
      else if (option.parseArg) copy.argParser(option.parseArg);
      copies.add(copy);
      command.addOption(copy);
    }
    command.commands.forEach(adopt);
  };
  program.hook('preAction', (_program, acting) => {
    for (let command: Command | null = acting; command && command !== program; command = command.parent)
      for (const option of command.options) {
        const name = option.attributeName();
        if (copies.has(option) && command.getOptionValueSource(name) === 'cli')
          program.setOptionValueWithSource(name, command.getOptionValue(name), 'cli');
      }
  });
  return adopt;
}

/** The commands. `print` receives what they have to say. @throws {CliError} from `parseAsync` when the service refuses */
export function createProgram(print: Print, { name = 'cli', ...surroundings }: Surroundings = nowhere): Command {
  const program = new Command(name)
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => [command.name(), command.usage().replace(/^\[options\] ?/, '')].join(' ').trim() })
    .description('Administers the service over its Management API.')
    .addOption(new Option('--url <url>', 'where the service is').env('BASE_URL').default('http://localhost:3000').argParser(originOf))
    .addOption(new Option('--client-id <id>', 'a client with a grant for the Management API').env('MANAGEMENT_CLIENT_ID'))
    .addOption(new Option('--client-secret <secret>', 'its secret').env('MANAGEMENT_CLIENT_SECRET'))
    .addOption(new Option('--profile <name>', 'the sign-in of this name (login)').env('IDP_PROFILE'))
    .addOption(new Option('--output <format>', 'how answers are written; table unless given').choices(outputs))
    .option('--json', 'the same as --output json');
  const options = () => accessOf(program, surroundings.variables);
  const output = (): Output => program.opts<{ output?: Output; json?: true }>().output ?? (program.opts<{ json?: true }>().json ? 'json' : 'table'); // prettier-ignore
  const show: Shell['show'] = (data: ApiRecord | ApiRecord[], lines: () => string) =>
    print(output() === 'table' ? visibleLines(lines()) : visibleJson(JSON.stringify(data, null, 2)));
  const shell: Shell = { options, output, show, print, ...surroundings };
  const commands = [
    addCreateClient,
    addCreateUser,
    addRotateSecret,
    addListDeliveries,
    addRedeliverFailed,
    addListAuthenticators,
    addResetAuthenticators,
    addImportAuthenticators,
    addCreateAdministrator,
    addImport,
  ];
  for (const add of commands) add(program, shell);
  const adopt = globalOptions(program);
  addOnDemand(program, shell, adopt);
  program.commands.forEach(adopt);
  return program;
}
