import type { Knex } from 'knex';
import { rowsOf, type Condition, type Rare, type SortKey, type Source } from './list-source.js';
import type { Scope } from './scope.js';

/** The conditions, once for each of what the first that consists of several does. */
function alternativesOf(conditions: readonly Condition[]): readonly (readonly Condition[])[] {
  const split = conditions.find(({ either }) => either !== undefined && either.length > 1);
  return split?.either?.map((one) => conditions.map((other) => (other === split ? one : other))) ?? [conditions];
}

/** One page of a list in SQL: what it asks for, and in which order. */
export type PageParts = {
  readonly scope: Scope;
  readonly source: Source;
  readonly conditions: readonly Condition[];
  readonly order: string;
  readonly limit: number;
  /** Leaves what lies beyond the position, if one is given. */
  readonly within: (query: Knex.QueryBuilder) => void;
};

function narrowed({ scope, source, conditions }: PageParts): Knex.QueryBuilder {
  const query = rowsOf(scope, source);
  for (const condition of conditions) condition(query, source);
  return query;
}

/** The page, to be read along the order. */
function unordered(parts: PageParts): Knex.QueryBuilder {
  const query = narrowed(parts);
  parts.within(query);
  return query.select(`${parts.source.table}.*`).limit(parts.limit);
}

/** The page of several, each of which is in order, to be put in order. */
function united({ scope, source, order, limit }: PageParts, pages: readonly Knex.QueryBuilder[]): Knex.QueryBuilder {
  const all = scope.knex.queryBuilder().unionAll(
    pages.map((page) => page.orderByRaw(order)),
    true,
  );
  return scope.knex.from(all.as(source.table)).select(`${source.table}.*`).limit(limit);
}

/** The same page: all that fulfil a rare condition are read from its indexes, and the page's own rows then; along the order after all where they are many. */
function fromRare(parts: PageParts, condition: Condition, { columns, parts: several = [condition], most }: Rare): Knex.QueryBuilder {
  const { scope, source, order, limit } = parts;
  const { table: own, key } = source;
  const { knex } = scope;
  const rare = (names: readonly string[]) => {
    const [first, ...others] = several.map((part) =>
      narrowed({ ...parts, conditions: parts.conditions.map((one) => (one === condition ? part : one)) }).select(
        names.map((name) => `${own}.${name}`),
      ),
    ) as [Knex.QueryBuilder, ...Knex.QueryBuilder[]];
    return others.length === 0 ? first : knex.unionAll([first, ...others], true);
  };
  // Counted first, and read again then: so many rows would be written to disk if they were kept meanwhile.
  const few = knex.raw(`select not exists (? offset (${most(own)}) limit 1) as it`, [rare([key])]);
  const areFew = '(select it from few)';
  // The sorted columns go by the name of the table, as the order spells them. All are read and then sorted (`offset 0`), or PostgreSQL might go along the order.
  const keys = knex
    .from(knex.raw('(? offset 0) as ??', [rare([key, ...columns]), own]))
    .select(`${own}.${key}`)
    .whereRaw(areFew);
  parts.within(keys);
  const found = rowsOf(scope, source)
    .select(`${own}.*`)
    .whereRaw(`${own}.${key} = any (array(?))`, [keys.orderByRaw(order).limit(limit)]);
  const many = unordered(parts).whereRaw(`not ${areFew}`);
  return united(parts, [found, many]).withMaterialized('few', few);
}

/** The rows of the page, to be put in order. */
export function pageOf(parts: PageParts, sort: readonly SortKey[]): Knex.QueryBuilder {
  const { conditions, source } = parts;
  // In the order in which they were made one index of the rare ones has them already; and no other order has use for ranges of that.
  const asMade = sort[0]?.expression === `${source.table}.created_at`;
  const byOne = conditions.find(({ rare }) => rare && !rare.parts);
  const byParts = conditions.find(({ rare }) => rare?.parts);
  const rarest = byOne ?? byParts;
  if (rarest?.rare && !(asMade && rarest === byOne)) return fromRare(parts, rarest, rarest.rare);
  const [first, ...others] = asMade
    ? alternativesOf(conditions).map((some) => unordered({ ...parts, conditions: some }))
    : [unordered(parts)];
  return first && others.length === 0 ? first : united(parts, [first as Knex.QueryBuilder, ...others]);
}
