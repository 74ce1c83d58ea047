// Whatever the doctor and a refused start tell somebody to run or set: what mends (`fixes`), and what only looks closer (`probes`). Nothing else makes one, and each is run
// as it stands, with hostile names, by test/flows/remedies.test.ts.
import { shellWord } from './shell-word.js';

declare const kind: unique symbol;
/** A command that runs as it stands and changes nothing but what is ours; or a variable, with its value where that is known. */
export type Fix = string & { readonly [kind]: 'fix' };
/** A command that only looks closer, and changes nothing. */
export type Probe = string & { readonly [kind]: 'probe' };

/** How a program of this project is called here: `npm run -s <name> -- <arguments>`, or by its file in an image. */
export type RunProgram = (program: 'doctor' | 'migrate' | 'rekey' | 'cli', args?: string) => string;
/** The command line at the address of one environment. */
export type CommandLine = (args: string) => string;

const fix = (text: string) => text as Fix;
const probe = (text: string) => text as Probe;

const own = '"$(id -u):$(id -g)"';
const make = (path: string) => `sudo install -d -m 700 -o "$(id -u)" -g "$(id -g)" ${shellWord(path)}`;
const at = (host: string, port: string | number) => `-h ${shellWord(host)} -p ${shellWord(String(port))}`;
/** An id that begins with a hyphen stands behind `--`: it is no option, such as another --url for the credentials of whoever runs it. */
const onRecord = (id: string, options: string) => (id.startsWith('-') ? `${options} -- ${shellWord(id)}` : `${shellWord(id)} ${options}`);

/** What mends, by what it does. */
export const fixes = {
  start: () => fix('npm start'),
  installNode: () => fix('nvm install 24'),
  setClock: () => fix('sudo timedatectl set-ntp true'),

  variable: (name: string) => fix(name),
  setVariable: (name: string, value: string) => fix(`${name}=${shellWord(value)}`),
  unsetVariables: (...names: string[]) => fix(`unset ${names.join(' ')}`),
  renameVariable: (name: string, meant: string) => fix(`export ${meant}="$${name}"; unset ${name}`),
  setVariableFromFile: (name: string, path: string) => fix(`export ${name}="$(cat ${shellWord(path)})"`),

  makeDirectory: (path: string) => fix(make(path)),
  makeDataDirectory: (path: string) => fix(`${make(path)} && export DATA_DIR=${shellWord(path)}`),
  openDirectory: (path: string) => fix(`chmod u+rwx ${shellWord(path)}`),
  openFile: (path: string) => fix(`chmod u+r ${shellWord(path)}`),
  takeFile: (path: string) => fix(`sudo chown -h ${own} ${shellWord(path)}`),

  createDatabase: (host: string, port: string, user: string, database: string) =>
    fix(`createdb ${at(host, port)} -U ${shellWord(user)} -- ${shellWord(database)}`),
  waitForDisk: () => fix(`psql "$DATABASE_URL" -c 'alter system set fsync = on' -c 'select pg_reload_conf()'`),
  migrate: (run: RunProgram) => fix(run('migrate')),
  rekey: (run: RunProgram) => fix(run('rekey')),

  /** Pasted on another machine, or after the process has ended, it ends nothing: the number may be another program's. */
  endProcess: (host: string, pid: number) =>
    fix(`[ "$(uname -n)" = ${shellWord(host)} ] && ps -o args= -p ${pid} | grep -q 'main\\.[jt]s' && kill ${pid}`),
  renewCertificate: (name: string) => fix(`certbot renew --cert-name ${shellWord(name)}`),
  requestCertificate: (name: string) => fix(`certbot certonly -d ${shellWord(name)}`),

  createAdministrator: (cli: CommandLine) => fix(cli('create-administrator second.administrator@example.com')),
  updateRecord: (cli: CommandLine, collection: string, id: string, option: string, ...values: string[]) =>
    fix(cli(`${collection} update ${onRecord(id, values.map((value) => `--${option} ${shellWord(value)}`).join(' '))}`)),
  createSigningKey: (cli: CommandLine, algorithm: string) => fix(cli(`signing_keys create --algorithm ${algorithm}`)),
  activateSigningKey: (cli: CommandLine, kid: string) => fix(cli(`signing_keys activate ${shellWord(kid)}`)),
} satisfies Record<string, (...given: never[]) => Fix>;

/** What looks closer, by what it looks at. */
export const probes = {
  checks: (run: RunProgram, ...ids: string[]) => probe(run('doctor', `--check ${ids.join(' ')}`)),
  deliveries: (cli: CommandLine, webhook: string) => probe(cli(`list-deliveries --webhook ${shellWord(webhook)} --status failed`)),

  directory: (path: string) => probe(`ls -ld ${shellWord(path)}`),
  hangingDirectory: (path: string) => probe(`timeout -s KILL 5 ls -ld ${shellWord(path)}`),
  file: (path: string) => probe(`ls -l ${shellWord(path)}`),
  diskUse: (path: string) => probe(`du -xh --max-depth=2 ${shellWord(path)} | sort -h | tail -n 20`),

  database: (host: string, port: string) => probe(`pg_isready ${at(host, port)}`),
  address: (url: string) => probe(`curl -sSv ${shellWord(url)}`),
  certificate: (name: string, port: number) =>
    probe(`openssl s_client -connect ${shellWord(`${name}:${port}`)} -servername ${shellWord(name)} -showcerts </dev/null`),
  mailCertificate: (protocol: string, address: string) =>
    probe(`openssl s_client${protocol === 'smtps:' ? '' : ' -starttls smtp'} -connect ${shellWord(address)} </dev/null`),
} satisfies Record<string, (...given: never[]) => Probe>;
