import { visible } from '../visible.js';

export type ConfigChange = {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: string;
  readonly key: string;
  readonly attributes: Readonly<Record<string, readonly [unknown, unknown]>>;
  readonly changed?: { readonly at: string; readonly display: string | null; readonly actor_id: string | null } | null;
};

/** What planning, applying and drift answer. */
export type ConfigChanges = {
  readonly changes: readonly ConfigChange[];
  readonly summary: { readonly create: number; readonly update: number; readonly delete: number };
  readonly warnings?: readonly { readonly code: string; readonly detail: string; readonly pointer: string }[];
  readonly secrets?: readonly { readonly kind: string; readonly key: string; readonly attribute: string; readonly value?: string }[];
  readonly state: string;
};

const signs = { create: '+', update: '~', delete: '-' } as const;
const words = { create: 'create', update: 'change', delete: 'delete' } as const;
const longest = 200;

function valueOf(value: unknown): string {
  const text = visible(value === undefined ? 'null' : JSON.stringify(value));
  return text.length > longest ? `${text.slice(0, longest)}...` : text;
}

const authorOf = ({ changed }: ConfigChange): string =>
  changed === undefined
    ? ''
    : changed === null
      ? ' (by nobody that is known)'
      : ` (${changed.at} by ${visible(changed.display ?? changed.actor_id ?? '?')})`;

function linesOf(change: ConfigChange): string[] {
  const head = `${signs[change.action]} ${change.kind} ${visible(change.key)}${authorOf(change)}`;
  if (change.action === 'delete') return [head];
  const attributes = Object.entries(change.attributes).map(([name, [old, now]]) =>
    change.action === 'create' ? `    ${visible(name)}: ${valueOf(now)}` : `    ${visible(name)}: ${valueOf(old)} -> ${valueOf(now)}`,
  );
  return [head, ...attributes];
}

export const countOf = ({ changes }: ConfigChanges): number => changes.length;

/** What the changes of an answer are: to be made, made, or found. */
export type AnswerKind = 'Plan' | 'Applied' | 'Drift';

const ends: Readonly<Record<AnswerKind, readonly [string, string, string, string]>> = {
  Plan: ['to create', 'to change', 'to delete', 'nothing to do'],
  Applied: ['created', 'changed', 'deleted', 'nothing to do'],
  Drift: ['added', 'changed', 'deleted', 'as it was applied'],
};

function sumOf(what: AnswerKind, answer: ConfigChanges): string {
  const { create, update, delete: deleted } = answer.summary;
  const [created, changed, gone, unchanged] = ends[what];
  return countOf(answer) === 0 ? unchanged : `${create} ${created}, ${update} ${changed}, ${deleted} ${gone}`;
}

export function answerText(what: AnswerKind, answer: ConfigChanges): string {
  const warnings = (answer.warnings ?? []).map(({ detail }) => `! ${visible(detail)}`);
  const made = (answer.secrets ?? []).map(({ kind, key, attribute }) => `* ${kind} ${visible(key)} gets a new ${attribute}`);
  return [...answer.changes.flatMap(linesOf), ...made, ...warnings, sumOf(what, answer)].join('\n');
}

/** Markdown that shows a text as it is, in one cell of a table. */
const cell = (text: string): string =>
  visible(text).replaceAll(/[&<>|`*_[\]\\!#~]/g, (one) => `&#${one.charCodeAt(0)};`).replaceAll(/\s+/g, ' '); // prettier-ignore

/** The same as a table in Markdown. */
export function markdownOf(what: AnswerKind, answer: ConfigChanges): string {
  const rows = answer.changes.map((change) => {
    const { action, kind, key, attributes } = change;
    const names = Object.keys(attributes).map(cell).join(', ');
    return `| ${words[action]} | ${cell(kind)} | ${cell(key)}${cell(authorOf(change))} | ${names} |`;
  });
  const table = rows.length === 0 ? [] : ['| | kind | name | attributes |', '| --- | --- | --- | --- |', ...rows];
  return [`### Configuration: ${what.toLowerCase()}`, '', `${sumOf(what, answer)}.`, '', ...table, ''].join('\n');
}
