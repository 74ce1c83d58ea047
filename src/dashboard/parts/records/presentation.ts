import type { Request } from 'express';
import type { AttentionKind } from '../../../domain/health/attention.js';
import type { Context } from '../../../domain/context.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { LineSpec } from './line-spec.js';
import type { Listing } from './objects.js';
import type { Choice, Empty, FieldKind, IconPaths, LinkButton, Part, PostButton, Row, Value } from '../page-parts.js';

export type ViewContext = { readonly req: Request; readonly now: Date };

/** A column of a list; `sort` names an order of the resource. */
export type ColumnSpec = {
  readonly label: string;
  readonly sort?: string;
  readonly numeric?: boolean;
  value(record: ResourceObject, view: ViewContext, listing: Pick<Listing, 'included' | 'extras'>): Value;
};

/** A filter of a list as a field of its GET form; the choices follow from the resource's own filter unless given. */
export type FilterSpec = {
  /** As in the address. */
  readonly name: string;
  readonly label: string;
  readonly kind?: 'search' | 'text' | 'select' | 'period';
  readonly choices?: (view: ViewContext) => Promise<readonly Choice[]>;
  /** The filter of the API; the name unless given. A period becomes `<filter>][gte`. */
  readonly filter?: string;
  /** The value while the address has none. */
  readonly initial?: string;
  /** What the API is given where nothing is chosen; nothing unless given. */
  readonly blank?: string;
  /** What a name may mean that somebody enters, by ids, which the filter of the API takes. */
  readonly lookUp?: (view: ViewContext, value: string) => Promise<readonly Choice[]>;
  /** Filters of the API that a value sets beside its own. */
  readonly implied?: (value: string) => Readonly<Record<string, string>>;
};

/** A field of a form: an attribute of the schema, or a relationship. `a.b` is the member b of the attribute a. */
export type FieldSpec = {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?: FieldKind;
  /** For a list (`lines`) whose members aren't texts. */
  readonly line?: LineSpec;
  readonly section?: string;
  /** Only when creating, or only when changing. */
  readonly on?: 'create' | 'update';
  readonly relationship?: 'one' | 'many';
  readonly choices?: (view: ViewContext) => Promise<readonly Choice[]>;
  readonly initial?: string | readonly string[];
  /** Another way to the same, beside the field; null: none for whoever looks. */
  readonly link?: (view: ViewContext) => { readonly label: string; readonly path: string } | null;
  readonly optional?: boolean;
  /** That a record made here has it always, though the schema of a creation can do without. */
  readonly needed?: boolean;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
};

export type SectionSpec = { readonly title: string; readonly text?: string; readonly folded?: boolean };

/** A page of a long form: its fields are saved together, and nothing else. `name` ends its address. */
export type FormSubject = {
  readonly name: string;
  readonly title: string;
  readonly text?: string;
  /** Whether the record has it; always, when left out. */
  readonly when?: (record: ResourceObject) => boolean;
  readonly sections?: readonly SectionSpec[];
  readonly fields: readonly FieldSpec[];
};

export const formSection = (section: SectionSpec, fields: readonly FieldSpec[]) => ({
  section,
  fields: fields.map((field): FieldSpec => ({ ...field, section: section.title })),
});

export const subjectOf = (
  subject: Omit<FormSubject, 'sections' | 'fields'>,
  sections: readonly ReturnType<typeof formSection>[],
): FormSubject => ({ ...subject, sections: sections.map(({ section }) => section), fields: sections.flatMap(({ fields }) => fields) });

/** How an action of the resource is shown: with `confirm` as a link to a confirmation page, else as a button. */
export type ActionSpec = {
  readonly label: string;
  /** Whether the record's state allows it; always, when left out. */
  readonly when?: (record: ResourceObject) => boolean;
  /** Sentences of the confirmation page; left out: no confirmation. */
  readonly confirm?: readonly string[];
  readonly danger?: boolean;
  /** Needs a fresh sign-in. */
  readonly guarded?: boolean;
  /** The notice afterwards. */
  readonly done: string;
  /** What is waited for before the page that it leads to is shown, by the id of the record that the action answered with. */
  readonly settle?: (ctx: Context, id: string) => Promise<void>;
  /** Where to go afterwards; the record unless given. `answer` is the record that the action answered with. */
  readonly leadsTo?: (record: { readonly id: string }, answer: { readonly id: string }) => string;
};

/** What the page of a secret says; `next` is the tab that the way on leads to. */
export type SecretText = {
  readonly lead?: string;
  readonly title: string;
  readonly label: string;
  readonly text: string;
  readonly next?: string;
};

export type TabSpec = {
  /** The last part of the address. */
  readonly name: string;
  readonly label: string;
  /** The collection that must be readable. */
  readonly needs?: string;
  readonly when?: (record: ResourceObject) => boolean;
  parts(view: ViewContext, record: ResourceObject): Promise<readonly Part[]>;
};

export const navigationGroups = ['People', 'Applications', 'Events'] as const;
export type NavigationGroup = (typeof navigationGroups)[number];

type Subject = {
  readonly path: string;
  readonly title: string;
  /** Its entry in the navigation, under its title unless labelled. */
  readonly navigation?: { readonly group: NavigationGroup; readonly icon: IconPaths; readonly label?: string };
  /** Without an entry of its own: that of which its list is a tab, or the page that leads to it. */
  readonly under?: string;
  /** "webhook", "API resource" */
  readonly one: string;
  name(record: ResourceObject, included?: readonly ResourceObject[]): string;
};

export type ExportColumn = { readonly name: string; text(record: ResourceObject): string };

/** A record that selected ones are linked to, beside those that each has already. */
export type SelectedLink = {
  /** Of the relationship. */
  readonly name: string;
  readonly label: string;
  readonly field: string;
  readonly choices: (view: ViewContext) => Promise<readonly Choice[]>;
};

export type ListSpec = {
  /** The order until another is chosen; the API's own unless given. */
  readonly defaultSort?: string;
  readonly lead: string;
  readonly empty: Omit<Empty, 'button'>;
  /** Leads to what has to be there before anybody can have a first record; null: it is there, or is not the viewer's to make. */
  readonly start?: (view: ViewContext) => Promise<LinkButton | null>;
  readonly columns: readonly ColumnSpec[];
  readonly filters: readonly FilterSpec[];
  readonly include?: string;
  /** Values that columns show beside the records, by record id; loaded once for the page. */
  readonly extras?: (view: ViewContext, records: readonly ResourceObject[]) => Promise<ReadonlyMap<string, Value>>;
  /** What can be done with several records at once: verbs of actions and `delete`. */
  readonly selected?: { readonly acts: readonly string[]; readonly link?: SelectedLink };
  /** The address of a stream of what comes to be its first rows, under the filters of the API. */
  readonly live?: (filters: Readonly<Record<string, string | undefined>>) => string;
  /** The columns of a file of the list, where they aren't the attributes. */
  readonly exported?: readonly ExportColumn[];
  /** Files of the list under its filters: addresses that take the same query. */
  readonly downloads?: readonly { readonly label: string; readonly path: string; readonly query: Readonly<Record<string, string>> }[];
};

type Parts = (view: ViewContext, record: ResourceObject, included: readonly ResourceObject[]) => Promise<readonly Part[]>;

export type RecordSpec = {
  /** `include` unless given. */
  readonly recordInclude?: string;
  readonly state?: (record: ResourceObject) => Value;
  /** What it is among the things that have to work: while it doesn't, its pages say so in the place of its state. */
  readonly attention?: AttentionKind;
  readonly summary: (record: ResourceObject, view: ViewContext, included: readonly ResourceObject[]) => readonly Row[];
  /** False: what identifies it has a row of its own, under another name. */
  readonly showsId?: false;
  /** The summary leaves out what is empty; this leads to the form that fills it in. */
  readonly details?: string;
  /** Values that the summary leaves out until it is asked to show all, by attribute. */
  readonly defaults?: (record: ResourceObject) => Readonly<Record<string, unknown>>;
  /** Parts above the summary: what somebody has to do about the record. */
  readonly above?: Parts;
  readonly more?: Parts;
  /** The same for the record's own page, where they tell of other records. */
  readonly named?: (view: ViewContext, record: ResourceObject) => Promise<Partial<Pick<Presentation, 'name' | 'summary' | 'more'>>>;
  readonly tabs?: readonly TabSpec[];
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  readonly remove?: RemoveSpec;
  readonly secrets?: Readonly<Record<string, SecretText>>;
  readonly links?: (
    record: ResourceObject,
    view: ViewContext,
  ) => { readonly links: readonly LinkButton[]; readonly posts: readonly PostButton[] };
};

export type CreateSpec = {
  readonly label: string;
  readonly title: string;
  readonly lead?: string | ((req: Request) => string);
  readonly guarded?: boolean;
  readonly button?: string;
  /** Another way to begin, beside the button of the list. */
  readonly other?: LinkButton;
  /** The last part of the form's address, where it isn't `new`; the form is then posted to it. */
  readonly path?: string;
  /** The notice afterwards. */
  readonly done?: string;
  /** What follows from what was entered, where a field was left empty. */
  readonly complete?: (attributes: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** The tab where somebody goes on who was shown no secret. */
  readonly next?: string;
  /** What stands below the secret, for whoever may read the record. `once`: what only this answer shows. */
  readonly after?: (view: ViewContext, record: ResourceObject, once: Readonly<Record<string, unknown>>) => Promise<readonly Part[]>;
  /** The verb of an action that belongs to the creation: in its transaction, after it. */
  readonly followedBy?: string;
};

/** The form of a record that is there. `guarded`: saving needs a fresh sign-in. */
export type EditSpec = { readonly lead?: string; readonly guarded?: boolean; readonly when?: (record: ResourceObject) => boolean };

export type FormSpec = {
  readonly sections?: readonly SectionSpec[];
  readonly fields?: readonly FieldSpec[];
  readonly createFields?: (req: Request) => readonly FieldSpec[];
  readonly editFields?: (record: ResourceObject) => readonly FieldSpec[];
  /** What stands above and below the forms of a new record (null) and of one that is there. */
  readonly formParts?: (
    req: Request,
    record: ResourceObject | null,
  ) => { readonly above: readonly Part[]; readonly below: readonly Part[] };
  /** The address of a page that shows what the form's entries, by field name, would make of it. */
  readonly preview?: (entries: Readonly<Record<string, string>>, record: ResourceObject) => string | null;
  /** What shows a form's texts as they would be: of a new record (null), and of one that is there. */
  readonly draft?: (req: Request, record: ResourceObject | null) => { readonly source: string; readonly action: string };
  /** The pages on which a record that is there is edited; together they have all `fields`. Left out: it is one page. */
  readonly subjects?: readonly FormSubject[];
  readonly create?: CreateSpec;
  readonly edit?: EditSpec;
};

export type RemoveSpec = {
  readonly label: string;
  readonly text: string;
  readonly when?: (record: ResourceObject) => boolean;
  readonly typed?: (record: ResourceObject) => string;
  /** Where its pages lead when it is gone or stays; the list and the record unless given. */
  readonly leadsTo?: (record: ResourceObject) => string | null;
};

/** What the pages of one resource say; everything else follows from the resource. */
export type Presentation = Subject & ListSpec & RecordSpec & FormSpec;

export const recordPath = (path: string, id: string): string => `/dashboard/${path}/${encodeURIComponent(id)}`;
