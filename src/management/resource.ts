import type { z } from 'zod';
import type { Actor } from '../domain/actor.js';
import type { Context } from '../domain/context.js';
import type { Reach, Touch } from '../domain/reach/reach.js';
import type { LinkChange } from '../domain/changes.js';
import type { Problem } from '../domain/refusal.js';
import type { LinkTable } from '../db/lists/list.js';
import type { Condition, Source, SortKey } from '../db/lists/list-source.js';

/** A record of any resource: a row as the database has it, or an entry of a list that the code holds. */
export type ResourceRow = Record<string, unknown>;

/** Related records that a request named, by relationship; null clears a to-one. Only what the request had is there. */
export type RelatedRows = Readonly<Record<string, ResourceRow | null | readonly ResourceRow[]>>;

/** What an operation hands back: the record as it is now, and what only this answer shows. */
export type Written<R> = {
  readonly row: R;
  /** Attributes that no later answer bears, such as a secret. */
  readonly once?: Readonly<Record<string, unknown>>;
  /** Top-level `meta` of this answer. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Replaces `meta` in a repeated reply, when `meta` holds a secret. */
  readonly metaAgain?: Readonly<Record<string, unknown>>;
  /** Further members of the audit entry, beside the changed attributes. */
  readonly noted?: Readonly<Record<string, unknown>>;
};

/** What actors of an organization see and do of a collection (specification 16.5); of one without it nothing. */
export type OrganizationRule<R = ResourceRow> = {
  readonly column?: keyof R & string;
  /** SQL of the rows that they see, where that isn't those of `column`; each `?` is the organization's id. */
  readonly owned?: string;
  /** The kinds of writes that they don't have. */
  readonly without?: readonly ('create' | 'delete')[];
  /** Attributes that they don't set. */
  readonly fixed?: readonly string[];
  /** So many the organization may have at most for them to make another: each is looked after all the time, by what is there for all organizations. */
  readonly most?: number;
  /** The attributes that they see; left out: all. */
  readonly shows?: readonly string[];
};

/** Another resource that a record points at. */
export type ToOne = {
  readonly kind: 'one';
  readonly to: string;
  readonly column: string;
  readonly description: string;
  readonly include?: boolean;
  /** Actors of an organization read it without the permission to read its collection. */
  readonly openWithin?: boolean;
  /** Whether a creation may, or must, name it. */
  readonly create?: 'required' | 'optional';
  /** What a change of it means for reach; left out: it never changes. */
  readonly later?: Touch;
};

/** Several others: those whose column holds this record's id, or those that a link table names. */
export type ToMany = {
  readonly kind: 'many';
  readonly to: string;
  readonly by: { readonly foreign: string } | LinkTable;
  readonly description: string;
  readonly include?: boolean;
  /** Set at creation and by PATCH, which replaces all; what `change` needs, both need too. */
  readonly write?: boolean;
  /** Changes through the relationship URL. `needs` are further permissions. */
  readonly change?: {
    readonly needs?: readonly string[];
    /** What a change of it means for whoever could act with the record, and with each of the targets. */
    readonly touch: Touch;
    readonly targets?: Touch;
    /** False: full replacement is refused with 403 (JSON:API 1.1, "Updating To-Many Relationships"). */
    readonly replaces: boolean;
    run(tx: Context, actor: Actor, row: ResourceRow, change: LinkChange<ResourceRow>): Promise<unknown>;
  };
};

export type Relationship = ToOne | ToMany;

/** A filter by its name: how its text becomes a condition. `schema` is of one value of the comma-separated list. */
export type Filter = {
  readonly description: string;
  readonly schema: z.ZodType;
  /** False: commas belong to the value. */
  readonly list?: boolean;
  /** Comparisons such as `filter[created_at][gte]`; without it the filter is plain. */
  readonly comparisons?: readonly ('gte' | 'gt' | 'lt' | 'lte')[];
  /** The permissions to ask for these values. */
  needs?(values: readonly unknown[]): readonly string[];
  /** An index finds the records that fit: as long as these are few, they are sorted in any order. */
  readonly byIndex?: boolean;
  condition(ctx: Context, values: readonly unknown[], comparison: 'gte' | 'gt' | 'lt' | 'lte' | null): Condition;
};

/** A verb on one record: `PATCH /{path}/{id}/{verb}` changes it and answers 200; POST sends something and answers 202. */
export type Action<R> = {
  readonly method: 'PATCH' | 'POST' | 'PUT';
  readonly description: string;
  /** What the audit log calls it: `webhook.secret_rotated`. */
  readonly audit: string;
  /** Permissions that it takes beside that of writing the resource. */
  readonly needs?: readonly string[];
  readonly touch: Touch;
  /** What the request says in the top-level `meta` of its document: a strict object. Left out: the action takes no body and ignores one. */
  readonly input?: z.ZodObject;
  /** Of PUT: what is sent instead of a document; `run` gets it as a {@link Part}. */
  readonly receives?: { readonly mediaType: string; readonly maxBytes: number };
  /** Work that must not happen inside the transaction (hashing, key generation, DNS). */
  prepare?(ctx: Context, actor: Actor, row: R, input: ResourceRow): Promise<unknown>;
  run(tx: Context, actor: Actor, row: R, input: ResourceRow, prepared: unknown): Promise<Written<ResourceRow>>;
  /** Attributes shown by this answer only. */
  readonly once?: z.ZodObject;
  /** Type of the record in the answer; the resource's own unless given. */
  readonly answers?: string;
  /** Top-level meta of the answer, for the documentation. */
  readonly meta?: z.ZodObject;
};

/** Reads something of a long file with a context of its own, wherever lists are read. */
export type ReadPiece = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/** `GET /{path}/{id}/data`: a file that a record stands for. */
export type Download<R> = {
  readonly mediaType: string;
  readonly description: string;
  /** What the audit log calls it. */
  readonly audit: string;
  /** Refuses, or notes that the file is taken, in a transaction. @throws {Refusal} */
  begin(tx: Context, actor: Actor, row: R): Promise<void>;
  /** The file, piece by piece; `read` reads one of them, with a deadline of its own. */
  content(read: ReadPiece, row: R): AsyncIterable<string>;
};

export type Create<R, I> = {
  /** A strict object: what isn't listed is refused. No defaults, no transforms. */
  readonly schema: z.ZodObject;
  /** Problems of the attributes that the schema accepts; reported together with those that it refuses. */
  problems?(ctx: Context, input: Partial<I>): readonly Problem[] | Promise<readonly Problem[]>;
  /** What must not be made inside a transaction: hashes, keys, requests to others. Undefined where no attribute of `prepareFor` was sent. */
  prepare?(ctx: Context, actor: Actor, input: I, related: RelatedRows): Promise<unknown>;
  /** The attributes that `prepare` is for; left out: all. */
  readonly prepareFor?: readonly string[];
  run(tx: Context, actor: Actor, input: I, related: RelatedRows, prepared: unknown): Promise<Written<R>>;
  readonly once?: z.ZodObject;
  readonly meta?: z.ZodObject;
  /** What the audit log calls it; `created` unless given. */
  readonly audit?: string;
  /** Refuses before the document is validated. @throws {Refusal} */
  allow?(ctx: Context, actor: Actor): void;
};

export type Update<R, I> = {
  readonly schema: z.ZodObject;
  /** The same as at creation, for the record as it is. */
  problems?(ctx: Context, input: Partial<I>, row: R): readonly Problem[] | Promise<readonly Problem[]>;
  /** The same as at creation. `row` is the record as it was just before the transaction. */
  prepare?(ctx: Context, actor: Actor, row: R, input: I, related: RelatedRows): Promise<unknown>;
  readonly prepareFor?: readonly string[];
  run(tx: Context, actor: Actor, row: R, input: I, related: RelatedRows, prepared: unknown): Promise<Written<R>>;
};

/** How far the records reach (`domain/reach/reach.ts`). */
export type ReachOf<R> = {
  /** Every permission that whoever controls the record could come to hold or act with. */
  of(tx: Context, row: R): Promise<Reach> | Reach;
  /** What the record's deletion takes from others, or opens, beside that. */
  removed?(tx: Context, row: R): Promise<Reach>;
  /** What a change of an attribute takes from others, or opens, beside that, by the attribute's name. */
  readonly changed?: Readonly<Record<string, (tx: Context, row: R) => Promise<Reach>>>;
  readonly attributes: Readonly<Record<string, Touch>>;
  /** A new record: `plain` when its maker doesn't control it. Left out: what the record reaches must be held. */
  readonly create?: 'plain' | 'everything';
  /** Left out: what the record reached must be held, for removing it takes that from somebody. */
  readonly remove?: 'plain' | 'everything';
};

/** A resource of the Management API as data: routes, checks, documents, OpenAPI and the reference page follow from it. */
export type Definition<R, C, U> = {
  /** JSON:API type: singular snake_case. */
  readonly type: string;
  /** Collection: plural snake_case, the path under /api and the name of its permissions. */
  readonly path: string;
  /** False: reached through a relationship only. */
  readonly routed?: boolean;
  /** The collection whose permissions count, when it isn't `path`. */
  readonly permissions?: string;
  readonly title: string;
  readonly description: string;
  /** How long the body of a creation or an update may be, one of `bodyLimits`; that of documents unless given. */
  readonly maxBytes?: number;
  readonly source: Source;
  readonly organization?: OrganizationRule<R>;
  /** Which of the records the actor sees; left out: all. */
  seenBy?(actor: Actor): Condition;
  /** Without `sort` its list is the events feed (`management/feed.ts`). */
  readonly isFeed?: true;
  /** Left out: the rows of `source`. Given: a list that the code itself holds. */
  readonly entries?: () => readonly ResourceRow[];
  /** Which of `entries` a list has only under a filter. */
  isHidden?(row: ResourceRow): boolean;
  /** The attributes of an answer, in their order; a declaration leaves out those that are shown as they are set. Columns of the same name fill them unless `computed` has the name. */
  readonly attributes: z.ZodObject;
  readonly computed?: Readonly<Record<string, (row: R, ctx: Context, actor: Actor) => unknown>>;
  /** The rows with what an answer shows and they don't have by themselves. */
  completed?(ctx: Context, rows: readonly R[]): Promise<readonly R[]>;
  readonly relationships: Readonly<Record<string, Relationship>>;
  readonly filters: Readonly<Record<string, Filter>>;
  /** Orders by name; `created_at` and `updated_at` unless told otherwise. */
  readonly sorts: Readonly<Record<string, Omit<SortKey, 'descending'> & { readonly indexed?: boolean }>>;
  readonly defaultSort?: string;
  readonly reach: ReachOf<R>;
  readonly create?: Create<R, C>;
  readonly update?: Update<R, U>;
  readonly remove?: { run(tx: Context, actor: Actor, row: R): Promise<void>; readonly audit?: string };
  readonly actions?: Readonly<Record<string, Action<R>>>;
  readonly download?: Download<R>;
  /** What the audit log calls a record. */
  display?(row: R): string | null;
};

/** A resource whose record type no longer matters: what the mechanism works with. */
export type Resource = Definition<ResourceRow, ResourceRow, ResourceRow>;

export type ResourceRegistry = { readonly byType: ReadonlyMap<string, Resource>; readonly byPath: ReadonlyMap<string, Resource> };

/** @throws when two resources share a type */
export function registryOf(resources: readonly Resource[]): ResourceRegistry {
  const byType = new Map(resources.map((one) => [one.type, one]));
  const byPath = new Map(resources.filter((one) => one.routed !== false).map((one) => [one.path, one]));
  if (byType.size !== resources.length) throw new Error('two resources have the same type');
  return { byType, byPath };
}

/** The row that a write has changed: it held it until then. */
export function changed<R>(row: R | null): R {
  if (row === null) throw new Error('a record that is held has gone');
  return row;
}

export function targetOf(registry: ResourceRegistry, relationship: Relationship): Resource {
  const target = registry.byType.get(relationship.to);
  if (!target) throw new Error(`no resource has the type ${relationship.to}`);
  return target;
}

export const permissionFor = (one: Resource, verb: 'read' | 'write') => `${one.permissions ?? one.path}:${verb}`;

export const idOf = (one: Resource, row: ResourceRow): string => String(row[one.source.key]);

/** A record's version for its ETag; records that never change have none. */
export const versionOf = (row: ResourceRow): number => (typeof row['version'] === 'number' ? row['version'] : 1);
