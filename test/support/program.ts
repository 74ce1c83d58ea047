import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { programArguments } from './compiled.js';

/** How a program of ours ended, and what it said. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs a program to its end, beside whatever this process does. Its environment is what is given, and PATH. */
export async function runProgram(
  name: Parameters<typeof programArguments>[0],
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const child = spawn(process.execPath, [...(await programArguments(name)), ...args], {
    env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
