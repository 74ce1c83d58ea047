import type { Request } from 'express';
import type { Call } from '../management/call.js';
import type { ResourceObject } from '../management/documents.js';
import type { Listing } from './resource-objects.js';
import type { Choice, Empty, FieldKind, IconPaths, LinkButton, Part, PostButton, Row, Value } from './page-parts.js';

/** The request that a page is rendered for, and its time. */
export type ViewContext = { readonly req: Request; readonly now: Date };

/** A column of a list; `sort` names an order of the resource. */
export type ColumnSpec = {
  readonly label: string;
  readonly sort?: string;
  readonly numeric?: boolean;
  value(record: ResourceObject, look: ViewContext, listing: Pick<Listing, 'included' | 'beside'>): Value;
};

/** A filter of a list as a field of its GET form; the choices follow from the resource's own filter unless given. */
export type FilterSpec = {
  /** As in the address. */
  readonly name: string;
  readonly label: string;
  readonly kind?: 'search' | 'text' | 'select' | 'period';
  readonly choices?: (look: ViewContext) => Promise<readonly Choice[]>;
  /** The filter of the API; the name unless given. A period becomes `<filter>][gte`. */
  readonly filter?: string;
  /** The value while the address has none. */
  readonly initial?: string;
};

/** How the members of a list that aren't texts are written, one a line. */
export type LineSpec = {
  show(member: unknown): string;
  /** Undefined: the line can't be read. */
  read(line: string): unknown;
  /** What to say of such a line. */
  readonly wrong: string;
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
  readonly choices?: (look: ViewContext) => Promise<readonly Choice[]>;
  /** What a new record starts with. */
  readonly initial?: string | readonly string[];
  /** Another way to the same, beside the field; null: none for whoever looks. */
  readonly link?: (look: ViewContext) => { readonly label: string; readonly path: string } | null;
  readonly optional?: boolean;
  /** That a record made here has it always, though the schema of a creation can do without. */
  readonly needed?: boolean;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
};

export type SectionSpec = { readonly title: string; readonly text?: string; readonly folded?: boolean };

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
  /** Shown as a button in the rows of the list too. */
  readonly inList?: boolean;
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
  parts(look: ViewContext, record: ResourceObject): Promise<readonly Part[]>;
};

/** The groups of the navigation that resources are in, in their order. */
export const navigationGroups = ['People', 'Applications', 'Events', 'Environment'] as const;
export type NavigationGroup = (typeof navigationGroups)[number];

/** What the pages of one resource say; everything else follows from the resource. */
export type Presentation = {
  readonly path: string;
  readonly title: string;
  /** Its place in the navigation, under its title; left out where records are reached from others. */
  readonly navigation?: { readonly group: NavigationGroup; readonly icon: IconPaths };
  /** The collection that the navigation marks while one without a place of its own is looked at. */
  readonly under?: string;
  /** "webhook", "API resource" */
  readonly one: string;
  readonly lead: string;
  readonly empty: Omit<Empty, 'button'>;
  readonly columns: readonly ColumnSpec[];
  readonly filters: readonly FilterSpec[];
  readonly include?: string;
  /** Values that columns show beside the records, by record id; loaded once for the page. */
  readonly beside?: (look: ViewContext, records: readonly ResourceObject[]) => Promise<ReadonlyMap<string, Value>>;
  /** The name of a record for people. */
  name(record: ResourceObject, included?: readonly ResourceObject[]): string;
  readonly state?: (record: ResourceObject) => Value;
  readonly summary: (record: ResourceObject, look: ViewContext, included: readonly ResourceObject[]) => readonly Row[];
  /** Parts above the summary: what somebody has to do about the record. */
  readonly above?: (look: ViewContext, record: ResourceObject, included: readonly ResourceObject[]) => Promise<readonly Part[]>;
  /** Parts below the summary. */
  readonly more?: (look: ViewContext, record: ResourceObject, included: readonly ResourceObject[]) => Promise<readonly Part[]>;
  readonly recordInclude?: string;
  /** Files of the list under its filters: addresses that take the same query. */
  readonly downloads?: readonly { readonly label: string; readonly path: string; readonly query: Readonly<Record<string, string>> }[];
  readonly sections?: readonly SectionSpec[];
  readonly fields?: readonly FieldSpec[];
  /** The fields of a new record where they depend on what the request names. */
  readonly createFields?: (req: Request) => readonly FieldSpec[];
  /** What stands above and below the forms of a new record (null) and of one that is there. */
  readonly formParts?: (
    req: Request,
    record: ResourceObject | null,
  ) => { readonly above: readonly Part[]; readonly below: readonly Part[] };
  readonly create?: {
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
    readonly after?: (look: ViewContext, record: ResourceObject, once: Readonly<Record<string, unknown>>) => Promise<readonly Part[]>;
    /** What belongs to the creation: in its transaction, after it. */
    readonly finish?: (call: Call, id: string) => Promise<void>;
  };
  /** `guarded`: saving needs a fresh sign-in. */
  readonly edit?: { readonly lead?: string; readonly guarded?: boolean; readonly when?: (record: ResourceObject) => boolean };
  readonly remove?: {
    readonly label: string;
    readonly text: string;
    readonly when?: (record: ResourceObject) => boolean;
    readonly typed?: (record: ResourceObject) => string;
    /** Where its pages lead when it is gone or stays; the list and the record unless given. */
    readonly leadsTo?: (record: ResourceObject) => string | null;
  };
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  readonly secrets?: Readonly<Record<string, SecretText>>;
  readonly tabs?: readonly TabSpec[];
  /** Further buttons at the top of the record. */
  readonly links?: (
    record: ResourceObject,
    look: ViewContext,
  ) => { readonly links: readonly LinkButton[]; readonly posts: readonly PostButton[] };
};

/** The address of a record. */
export const recordPath = (path: string, id: string): string => `/dashboard/${path}/${encodeURIComponent(id)}`;
