import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A machine of its own on this one, as far as programs can tell: a network with one address, its own /etc, /run and directories of
 * databases. Namespaces of the kernel, which vanish with their processes; nothing outside of `directory` is changed.
 */
export type Machine = {
  readonly name: string;
  readonly address: string;
  /** Writes a file of its /etc. */
  configure(path: string, text: string, mode?: number): Promise<void>;
  /** Reads one. */
  configuration(path: string): Promise<string>;
  /** Starts a program and leaves it running; its output goes to `log(name)`. */
  start(name: string, command: readonly string[], options?: RunOptions): ChildProcess;
  /** Runs a command to its end. @throws with its output when it fails */
  run(command: readonly string[], options?: RunOptions): Promise<string>;
  /** What a program has printed so far. */
  log(name: string): string;
  /** Processes on it whose name is one of these, by id. */
  processes(...names: readonly string[]): number[];
  /** Pulls the cable out, and puts it in again: silence, not refusal. */
  disconnect(): Promise<void>;
  connect(): Promise<void>;
};

export type RunOptions = { readonly user?: string; readonly environment?: Readonly<Record<string, string>>; readonly directory?: string };

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const bridge = 'lan';

/** Runs a command to its end. @throws with its output when it fails */
export async function command(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const [program = '', ...args] = words;
  const child = spawn(program, args, { env: { PATH: path, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (data) => (output += String(data)));
  child.stderr.on('data', (data) => (output += String(data)));
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}:\n${output}`);
  return output;
}

/** The network that the machines share, with this process on it as `address`. */
export async function layNetwork(address: string): Promise<void> {
  await command(['ip', 'link', 'set', 'lo', 'up']);
  await command(['ip', 'link', 'add', bridge, 'type', 'bridge']);
  await command(['ip', 'addr', 'add', `${address}/24`, 'dev', bridge]);
  await command(['ip', 'link', 'set', bridge, 'up']);
}

/** What a machine has of its own, made within its namespaces. */
const furnish = `set -eu
mount -t tmpfs -o mode=755 tmpfs /run
install -d -m 2775 -o postgres -g postgres /run/postgresql
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
install -d -m 700 -o etcd -g etcd "$1/etcd"
mount --bind "$1/etcd" /var/lib/etcd
install -d -m 755 -o postgres -g postgres "$1/postgresql"
mount --bind "$1/postgresql" /var/lib/postgresql
echo ready
exec sleep infinity`;

async function openNamespaces(directory: string): Promise<number> {
  const child = spawn('unshare', ['--net', '--mount', '--propagation', 'private', 'sh', '-c', furnish, 'sh', directory], {
    env: { PATH: path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', () => resolve());
    child.once('exit', (code) => reject(new Error(`a machine could not be made: exit code ${code}`)));
  });
  return child.pid as number;
}

/** The ids of the processes in the network namespace of process `holder`, by name. */
function processesBeside(holder: number, names: readonly string[]): number[] {
  const namespace = readlinkSync(`/proc/${holder}/ns/net`);
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const isMember = readlinkSync(`/proc/${entry}/ns/net`) === namespace;
      return isMember && names.includes(readFileSync(`/proc/${entry}/comm`, 'utf8').trim()) ? [Number(entry)] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Makes a machine and plugs it into the network; `directory` holds what it writes. */
export async function startMachine(name: string, address: string, directory: string): Promise<Machine> {
  await mkdir(join(directory, 'log'), { recursive: true });
  const holder = await openNamespaces(directory);
  const inside = (words: readonly string[], { user, directory: at = '/' }: RunOptions = {}) => [
    'nsenter',
    `--target=${holder}`,
    '--net',
    '--mount',
    `--wd=${at}`,
    ...(user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups']),
    ...words,
  ];
  const run = (words: readonly string[], options: RunOptions = {}) => command(inside(words, options), options.environment);
  const logFile = (program: string) => join(directory, 'log', program);

  await command(['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(holder)]);
  await command(['ip', 'link', 'set', name, 'master', bridge, 'up']);
  await run(['ip', 'link', 'set', 'lo', 'up']);
  await run(['ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0']);
  await run(['ip', 'link', 'set', 'eth0', 'up']);
  return {
    name,
    address,
    async configure(file, text, mode = 0o644) {
      const at = join(directory, file);
      await mkdir(dirname(at), { recursive: true });
      await writeFile(at, text, { mode });
    },
    configuration: (file) => readFile(join(directory, file), 'utf8'),
    start(program, words, options = {}) {
      const [first = '', ...args] = inside(words, options);
      const log = openSync(logFile(program), 'a');
      const child = spawn(first, args, { env: { PATH: path, ...options.environment }, stdio: ['ignore', log, log] });
      closeSync(log);
      return child;
    },
    run,
    log: (program) => readFileSync(logFile(program), 'utf8'),
    processes: (...names) => processesBeside(holder, names),
    disconnect: async () => void (await command(['ip', 'link', 'set', name, 'down'])),
    connect: async () => void (await command(['ip', 'link', 'set', name, 'up'])),
  };
}
