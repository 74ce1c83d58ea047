import type { Tone } from './tone.js';

/** One piece of data as a page shows it. Everything is plain text; the views escape it. */
export type Value =
  /** `language`: what it is written in, where that isn't English. */
  | { readonly kind: 'text'; readonly text: string; readonly language?: { readonly tag: string; readonly dir: 'ltr' | 'rtl' } }
  | { readonly kind: 'quiet'; readonly text: string }
  | { readonly kind: 'number'; readonly text: string }
  /** An id, code or address; `copy` adds a button that copies it. */
  | { readonly kind: 'code'; readonly text: string; readonly copy?: boolean }
  /** ISO 8601, with the words for it: "3 minutes ago" and "21 November 2026 at 09:05 UTC". */
  | { readonly kind: 'time'; readonly iso: string; readonly words: string; readonly exact: string }
  | { readonly kind: 'state'; readonly tone: Tone; readonly word: string }
  /** Only paths of our own. `about` completes its name for those who can't see what it stands beside. */
  | { readonly kind: 'link'; readonly text: string; readonly path: string; readonly about?: string }
  /** An address elsewhere; linked when it is http(s), else text. */
  | { readonly kind: 'web'; readonly text: string }
  | { readonly kind: 'tags'; readonly items: readonly string[]; readonly more?: number }
  | { readonly kind: 'lines'; readonly items: readonly string[] }
  | { readonly kind: 'pre'; readonly text: string }
  /** How much of something is done. */
  | { readonly kind: 'progress'; readonly value: number; readonly max: number; readonly text: string }
  | { readonly kind: 'stack'; readonly values: readonly Value[] };

export type LinkButton = {
  readonly label: string;
  readonly path: string;
  readonly variant?: 'primary' | 'quiet' | 'danger';
  readonly dialog?: boolean;
};

export type Column = {
  readonly label: string;
  readonly numeric?: boolean | undefined;
  readonly sort?: { readonly path: string; readonly direction: 'ascending' | 'descending' | null } | undefined;
};

/** A button in a row that posts at once. `about` completes its name for those who can't see the row. */
export type RowAction = { readonly label: string; readonly about: string; readonly action: string; readonly variant?: 'quiet' | 'danger' };

/** `path`: where the first cell leads; `mark`: a word that stands beside it. */
export type TableRow = {
  readonly path?: string | null;
  readonly cells: readonly Value[];
  readonly actions?: readonly RowAction[];
  readonly mark?: string | null;
  /** What selects it in a list whose rows can be selected. */
  readonly select?: { readonly name: string; readonly about: string } | null;
};

/** What can be done with rows that are selected: buttons of one form, which the rows' boxes belong to. */
export type Selection = {
  readonly action: string;
  readonly acts: readonly { readonly value: string; readonly label: string; readonly danger: boolean }[];
};

export type Empty = { readonly title: string; readonly text: string; readonly code?: string | null; readonly button: LinkButton | null };

/** What chooses the columns and the rows of a page, for this browser. */
export type ListLayoutForm = {
  readonly list: string;
  readonly sizes: readonly { readonly value: number; readonly selected: boolean }[];
  readonly columns: readonly { readonly label: string; readonly shown: boolean }[];
};

export type TablePart = {
  readonly kind: 'table';
  readonly id: string;
  readonly caption: string;
  /** Whether the caption shows as a heading; lists have it in the page's own. */
  readonly heading: boolean;
  readonly columns: readonly Column[];
  readonly rows: readonly TableRow[];
  readonly empty: Empty;
  /** The address of a stream of what comes to be its first rows. */
  readonly live?: string | null;
  /** Which of how many rows these are. */
  readonly shown?: string | null;
  readonly selection?: Selection | null;
  readonly files?: readonly LinkButton[];
  readonly layout?: ListLayoutForm | null;
  readonly pager: { readonly previous: string | null; readonly next: string | null } | null;
};
