import type { Access, ApiRecord } from './api.js';
import { visible } from './visible.js';

export const outputs = ['table', 'json', 'yaml', 'ndjson'] as const;
export type Output = (typeof outputs)[number];

/** Receives what a command has to say. */
export type Print = (text: string) => void;

/** What the commands share: where the service is, and how what it answers is shown. */
export type Shell = {
  readonly options: () => Access;
  /** How answers are written. */
  readonly output: () => Output;
  readonly show: (data: ApiRecord | ApiRecord[], lines: () => string) => void;
  readonly print: Print;
  /** What the process ends with when a command does as it should and yet has something to say, such as that there are changes. */
  readonly exit: (code: number) => void;
  readonly variables: Readonly<NodeJS.ProcessEnv>;
};

/** The record of an answer that has one. */
export const one = (data: ApiRecord | ApiRecord[]): ApiRecord => (Array.isArray(data) ? data[0] : data) as ApiRecord;

/** Columns of equal width, for people; nothing in a cell moves the cursor or begins a line. */
export function columns(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(visible));
  const widths = rows[0]?.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const present = (object: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
