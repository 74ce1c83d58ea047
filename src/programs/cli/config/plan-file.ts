import { readFile, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { CliError } from '../api.js';
import type { ConfigChanges } from './answer.js';

/** A plan as it is kept: the document, and what applying it is to do. Secrets are references in it. */
export type PlanFile = {
  readonly document: Readonly<Record<string, unknown>>;
  readonly prune: boolean;
  readonly state: string;
  readonly changes: readonly unknown[];
};

const planFile = z.strictObject({
  plan: z.literal(1),
  document: z.record(z.string(), z.unknown()),
  prune: z.boolean(),
  state: z.string(),
  changes: z.array(z.unknown()),
});

/** Keeps a plan, for its owner alone. */
export async function writePlan(
  file: string,
  document: PlanFile['document'],
  prune: boolean,
  { state, changes }: ConfigChanges,
): Promise<void> {
  await writeFile(file, `${JSON.stringify({ plan: 1, document, prune, state, changes }, null, 2)}\n`, { mode: 0o600 });
}

/** @throws {CliError} when it is no plan */
export async function readPlan(file: string): Promise<PlanFile> {
  try {
    return planFile.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new CliError(
      `${file} is no plan that config plan --out has written: ${(error as NodeJS.ErrnoException).code ?? 'its form is another one'}`,
    );
  }
}

/** That or nothing. @throws {CliError} when applying would do anything else by now */
export function requireSamePlan(planned: PlanFile, answer: ConfigChanges): void {
  if (isDeepStrictEqual(planned.changes, JSON.parse(JSON.stringify(answer.changes)))) return;
  throw new CliError('applying would do something else than was planned, such as with other secrets: nothing was done. Plan again');
}
