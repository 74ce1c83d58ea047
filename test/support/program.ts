import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { programArguments } from './compiled.js';
import { eventually } from './webhooks.js';

/** How a program of ours ended, and what it said. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

type Environment = Readonly<Record<string, string>>;

/** Starts a program of ours, in a directory. Its environment is what is given, and PATH. */
export const startProgram = async (
  name: Parameters<typeof programArguments>[0],
  args: readonly string[],
  environment: Environment,
  cwd?: string,
): Promise<ReturnType<typeof started>> => started([...(await programArguments(name)), ...args], environment, cwd);

function started(words: readonly string[], environment: Environment, cwd = process.cwd()) {
  const child = spawn(process.execPath, words, {
    cwd,
    env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  const ended: Promise<Ended> = Promise.all([text(child.stderr), exited, finished(child.stdout)]).then(([stderr, code]) => ({
    code,
    stdout: printed,
    stderr,
  }));
  return {
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    ended,
    /** What it has printed so far. */
    printed: () => printed,
    /** Resolves once it has printed the text. */
    prints: (some: string) => eventually(async () => printed.includes(some), 90_000, 50),
  };
}

/** Runs a program to its end, beside whatever this process does. */
export const runProgram = async (...given: Parameters<typeof startProgram>): Promise<Ended> => (await startProgram(...given)).ended;

/** Runs Node with these words, such as a program of another build, to its end. */
export const endOf = (words: readonly string[], environment: Environment): Promise<Ended> => started(words, environment).ended;
