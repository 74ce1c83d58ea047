import type { UserImportRow } from '../../db/tables/user_imports.js';
import type { Context } from '../../domain/context.js';
import { hashFormats } from '../../domain/passwords/hash-formats.js';
import { parseJsonObject } from '../../http/request/json-body.js';
import { nearestName } from '../../lib/nearest.js';
import { turns } from '../../lib/turns.js';
import { linesOf, longestLine, UnreadableFile, type Line } from './lines.js';
import { mostValues, readRow, rowAttributes, type RowProblem } from './rows.js';

const [mostRows, mostNames, mostSamples] = [100, 100, 3];

/** An attribute that rows have: what becomes of it, and what is in the first of them. `nearest`: what an unknown one may be meant as. */
type PreviewedAttribute = {
  readonly name: string;
  readonly becomes: 'known' | 'ignored' | 'unknown';
  readonly nearest: string | null;
  readonly samples: readonly unknown[];
};

/** What the first rows of a file tell, of which nothing is written. `error`: why no more can be read. */
export type ImportPreview = {
  readonly row_count: number;
  readonly attributes: readonly PreviewedAttribute[];
  readonly refused: readonly { readonly line: number; readonly problem: RowProblem }[];
  readonly error: string | null;
};

/** The first lines, and why there are no more. No more is unpacked for them than they may have. */
async function firstLines(ctx: Context, job: UserImportRow): Promise<{ lines: Line[]; error: string | null }> {
  const lines: Line[] = [];
  try {
    for await (const line of linesOf(() => ctx, job, mostRows * longestLine).lines) if (lines.push(line) === mostRows) break;
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { lines, error: error.message };
  }
  return { lines, error: null };
}

/** A hash is never shown, but what it is. */
function sampleOf(name: string, value: unknown): unknown {
  if (name !== 'password_hash' && name !== 'password') return value;
  return hashFormats.find(({ begins }) => typeof value === 'string' && begins.test(value))?.name ?? '[hidden]';
}

export async function previewImport(ctx: Context, job: UserImportRow): Promise<ImportPreview> {
  const { lines, error } = await firstLines(ctx, job);
  const samples = new Map<string, unknown[]>();
  const refused: { line: number; problem: RowProblem }[] = [];
  let row_count = 0;
  const turn = turns();
  for (const line of lines) {
    await turn();
    const row = readRow(ctx, job, line);
    if (row === null) continue;
    row_count += 1;
    const [problem] = 'line' in row ? [] : row;
    if (problem) refused.push({ line: line.line, problem });
    const values = parseJsonObject(line.bytes ?? Buffer.alloc(0), mostValues);
    for (const [name, value] of Object.entries(typeof values === 'string' ? {} : values)) {
      const known = samples.get(name) ?? [];
      if (known.length < mostSamples) known.push(sampleOf(name, value));
      if (samples.size < mostNames) samples.set(name, known);
    }
  }
  const becomes = (name: string) =>
    name === 'email_verified' && !job.addresses_proven ? 'ignored' : rowAttributes.includes(name) ? 'known' : 'unknown';
  const attributes = [...samples].map(([name, found]) => ({
    name,
    becomes: becomes(name),
    nearest: rowAttributes.includes(name) ? null : nearestName(name, rowAttributes),
    samples: found,
  })) satisfies PreviewedAttribute[];
  return { row_count, attributes, refused, error };
}
