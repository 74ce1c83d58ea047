// The table of docs/guides/README.md: what ran last, and how it went.
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { signInAndOut } from './trial.js';
import { trials } from './trials.js';

export type Result = {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly note: string;
  /** Empty unless it passed. */
  readonly version: string;
};

const page = 'docs/guides/README.md';

const table = /(<!-- written by test:clients -->\n)[\s\S]*?(\n<!-- to here -->)/;

const cells = (line: string) => line.split('|').map((cell) => cell.trim()).slice(1, -1); // prettier-ignore

/** Replaces the lines of what ran; those of what did not run, or was skipped, stay as they are. */
export async function writeResults(results: readonly Result[]): Promise<void> {
  const markdown = await readFile(page, 'utf8');
  const before = new Map(
    (table.exec(markdown)?.[0] ?? '').split('\n').map((line) => [/\]\((\S+)\.md\)/.exec(line)?.[1] ?? '', cells(line)]),
  );
  const date = new Date().toISOString().slice(0, 10);
  const rows = trials.map((trial) => {
    const result = results.find(({ name, outcome }) => name === trial.name && outcome !== 'skipped');
    const [, version = '', last = 'not run yet'] = before.get(trial.name) ?? [];
    const told = result ? [result.version || version, result.outcome === 'passed' ? date : `failed ${date}`] : [version, last];
    return [`[${trial.title}](${trial.name}.md)`, ...told, trial.shows === signInAndOut ? '' : trial.shows];
  });
  const lines = [['guide', 'version', 'passed', 'shown otherwise'], ['---', '---', '---', '---'], ...rows];
  const text = lines.map((row) => `| ${row.join(' | ')} |`).join('\n');
  const written = markdown.replace(table, (_all, start: string, end: string) => `${start}\n${text}\n${end}`);
  await writeFile(page, await format(written, { ...(await resolveConfig(page)), filepath: page }));
}
