// A guide's application, as a reader gets it: its files in a folder, its variables, its start.sh.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../support/webhooks.js';
import { person } from './service.js';

export type Application = { readonly directory: string; readonly log: string; stop(): Promise<void> };

/** Longer than the first build of the largest one on a busy machine. */
const upWithinMs = 1_200_000;
const endsWithinMs = 10_000;

const answers = (url: string) =>
  fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(10_000) }).then(
    () => true,
    () => false,
  );

const isOver = (pid: number): boolean => {
  try {
    process.kill(-pid, 0);
    return false;
  } catch {
    return true;
  }
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Started = { readonly child: ChildProcess; readonly directory: string; readonly log: string; stop(): Promise<void> };

/** Copies `examples/clients/<name>` beside what earlier runs downloaded and built, and runs its start.sh. */
async function start(name: string, cache: string, variables: Readonly<Record<string, string>>): Promise<Started> {
  const directory = join(cache, name);
  await mkdir(directory, { recursive: true });
  await cp(join('examples/clients', name), directory, { recursive: true });
  const log = join(cache, `${name}.log`);
  const output = await open(log, 'w');
  // At low priority, one compilation at a time: a build must not starve the service beside it.
  const child = spawn('nice', ['sh', '-e', 'start.sh'], {
    cwd: directory,
    detached: true,
    env: { ...process.env, CARGO_BUILD_JOBS: '1', SESSION_SECRET: randomBytes(32).toString('hex'), ...variables },
    // By itself: all that it said is there when it has ended.
    stdio: ['ignore', output.fd, output.fd],
  });
  await output.close();
  const group = child.pid as number;
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (!isOver(group)) process.kill(-group, signal);
    const until = Date.now() + endsWithinMs;
    while (!isOver(group) && Date.now() < until) await pause(50);
  };
  const atExit = () => {
    if (!isOver(group)) process.kill(-group, 'SIGKILL');
  };
  process.once('exit', atExit);
  const stop = async () => {
    process.off('exit', atExit);
    await end('SIGTERM');
    await end('SIGKILL');
  };
  return { child, directory, log, stop };
}

const isEnded = ({ child }: Started) => child.exitCode !== null || child.signalCode !== null;
const lastLines = async ({ log }: Started) => (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-15).join('\n');

/**
 * Starts a guide's application and waits until `url` answers.
 * @throws when the port is taken, when start.sh ends, and when nothing answers in time
 */
export async function startApplication(
  name: string,
  url: string,
  cache: string,
  variables: Readonly<Record<string, string>>,
): Promise<Application> {
  if (await answers(url)) throw new Error(`something else listens at ${url}`);
  const started = await start(name, cache, variables);
  const until = Date.now() + upWithinMs;
  while (!(await answers(url))) {
    if (isEnded(started) || Date.now() > until) {
      await started.stop();
      throw new Error(`${name} ${isEnded(started) ? 'ended' : 'does not answer'}:\n${await lastLines(started)}`);
    }
    await pause(200);
  }
  return started;
}

/**
 * Runs a guide's command, which prints the address to open, and greets the person when it ends.
 * @returns its folder
 * @throws when it prints no address, fails or greets nobody
 */
export async function runCommand(
  name: string,
  cache: string,
  variables: Readonly<Record<string, string>>,
  open: (address: string) => Promise<unknown>,
): Promise<string> {
  const started = await start(name, cache, variables);
  try {
    const said = (pattern: RegExp) =>
      eventually(async () => {
        const hasEnded = isEnded(started);
        const found = pattern.exec(await readFile(started.log, 'utf8').catch(() => ''));
        if (!found && hasEnded) throw new Error(`${name} ended:\n${await lastLines(started)}`);
        return found;
      }, upWithinMs, 100); // prettier-ignore
    await open((await said(/^Open (\S+)$/m))[1] as string);
    await said(new RegExp(`^Hello ${person.name}, ${person.email}$`, 'm'));
    return started.directory;
  } finally {
    await started.stop();
  }
}
