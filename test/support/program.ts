import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { programArguments } from './compiled.js';

/** How a program of ours ended, and what it said. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

type Environment = Readonly<Record<string, string>>;

/** Starts a program of ours. Its environment is what is given, and PATH. */
export async function startProgram(
  name: Parameters<typeof programArguments>[0],
  args: readonly string[],
  environment: Environment,
): Promise<{ readonly kill: (signal: NodeJS.Signals) => void; readonly ended: Promise<Ended> }> {
  return started([...(await programArguments(name)), ...args], environment);
}

function started(words: readonly string[], environment: Environment) {
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const ended = Promise.all([text(child.stdout), text(child.stderr), exited]).then(([stdout, stderr, code]) => ({ code, stdout, stderr }));
  return { kill: (signal: NodeJS.Signals) => void child.kill(signal), ended };
}

/** Runs a program to its end, beside whatever this process does. */
export async function runProgram(...given: Parameters<typeof startProgram>): Promise<Ended> {
  return (await startProgram(...given)).ended;
}

/** Runs Node with these words, such as a program of another build, to its end. */
export const endOf = (words: readonly string[], environment: Environment): Promise<Ended> => started(words, environment).ended;
