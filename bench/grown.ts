import { hotPlans } from './grown-plans.js';
import { measureJanitor } from './grown-janitor.js';
import { connectTo, fillTables, readIndexes, tableSizes } from './grown-rows.js';
import { hotOperations, type HotOperation } from './grown-statements.js';
import type { Context } from '../src/domain/context.js';
import { median, type Plan } from './measure.js';
import { familyTime, usedBetween } from './processor-time.js';
import type { Product } from './targets/product.js';

const small = 10_000;
const inFlight = 8;

/** Who looks at the dashboard. */
export const administrator = { email: 'root@example.com', password: 'nanoseconds of wire' };

async function rate(
  operation: () => Promise<unknown>,
  seconds: number,
  postgres: number,
): Promise<{ per_second: number; postgres_us: number }> {
  const started = performance.now();
  const before = familyTime(postgres);
  let count = 0;
  const loop = async () => {
    for (; performance.now() - started < seconds * 1000; count++) await operation();
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return {
    per_second: (count * 1000) / (performance.now() - started),
    postgres_us: usedBetween(before, familyTime(postgres)) / 1000 / count,
  };
}

/** A database with so many rows in each of its tables that grow. */
export type Grown = { readonly ctx: Context; readonly url: string; readonly size: number };

/** What each hot operation costs PostgreSQL in each of the databases, in their order: microseconds, medians of the rounds, in which they take turns. */
export async function measureHot(databases: readonly Grown[], plan: Plan, postgres: number): Promise<Map<string, number[]>> {
  for (const { url } of databases) await readIndexes(url);
  const all = await Promise.all(databases.map(({ ctx, size }) => hotOperations(ctx, size)));
  const names = (all[0] ?? []).map(({ name }) => name);
  const found = new Map<string, number[]>();
  for (const name of names) {
    const runs = all.map((operations) => (operations.find((one) => one.name === name) as HotOperation).run);
    const cells = runs.map(() => [] as number[]);
    // The first change of a page after a checkpoint writes the whole page to the log: with many pages that lasts until each has been met.
    for (const [index, run] of runs.entries())
      await rate(run, plan.warmUp * ((databases[index]?.size ?? 0) > 1_000_000 ? 12 : 1), postgres);
    for (let round = 0; round < plan.rounds; round++) {
      const turns = [...runs.entries()];
      for (const [index, run] of round % 2 === 0 ? turns : turns.toReversed())
        cells[index]?.push((await rate(run, plan.seconds, postgres)).postgres_us);
    }
    found.set(name, cells.map(median));
  }
  return found;
}

/** The figures in words. */
export function hotText(found: ReadonlyMap<string, readonly number[]>, sizes: readonly number[]): string[] {
  return [...found].map(([name, [few = 0, many = 0]]) => {
    const of = (us: number, index: number) => `${us.toFixed(0).padStart(5)} us at ${sizes[index] ?? 0} rows`;
    return `${name.padEnd(26)} ${of(few, 0)}, ${of(many, 1)}: ${(many / few).toFixed(2)} times (aim 1.3)`;
  });
}

/** Roles for a tenth of the people, and for fifty of them. */
export async function addRoles({ ctx }: Product): Promise<void> {
  await ctx.db.knex.raw(
    `insert into roles (environment_id, id, name, created_at, updated_at)
     select ?, gen_random_uuid(), name, now(), now() from unnest(array['Everybody', 'Rare']) name`,
    [ctx.environment.id],
  );
}

/** On a connection of its own, which may take its time. */
export async function giveRoles({ ctx }: Product, url: string, size: number): Promise<void> {
  const client = await connectTo(url);
  for (const [name, most] of [
    ['Rare', 50],
    ['Everybody', size / 10],
  ] as const)
    // prettier-ignore
    await client.query(
      `insert into user_roles (environment_id, user_id, role_id)
       select u.environment_id, u.id, r.id from users u join roles r on r.environment_id = u.environment_id and r.name = $1
       where u.environment_id = $2 and u.email_key like 'person%' order by md5(u.email_key) limit $3`,
      [name, ctx.environment.id, Math.floor(most)],
    );
  await client.query('vacuum analyze user_roles');
  await client.end();
}

/** A service and the address of its database. */
export type GrownService = { readonly product: Product; readonly databaseUrl: string };

/**
 * The hot statements with ten thousand rows in each of the tables that grow and, taking turns, with `size` of them; the janitor beside a
 * steady load; and how the hot statements find their rows. Text.
 */
export async function measureGrowth(few: GrownService, many: GrownService, size: number, plan: Plan, postgres: number): Promise<string> {
  const { ctx } = many.product;
  const lines: string[] = [];
  const tell = (...some: string[]) => {
    for (const line of some) console.error(line);
    lines.push(...some);
  };
  await fillTables(few.product, few.databaseUrl, small, 1);
  const began = performance.now();
  await fillTables(many.product, many.databaseUrl, size, 2);
  tell(`filled in ${((performance.now() - began) / 1000).toFixed(0)} s`, ...(await tableSizes(many.databaseUrl)));
  const databases = [
    { ctx: few.product.ctx, url: few.databaseUrl, size: small },
    { ctx, url: many.databaseUrl, size },
  ];
  tell(...hotText(await measureHot(databases, plan, postgres), [small, size]));
  const insert = (await hotOperations(ctx, size)).find(({ name }) => name === 'token, opaque');
  if (insert) tell(...(await measureJanitor(ctx, insert.run, Math.min(size, 300_000), postgres)));
  tell(...(await hotPlans(ctx)));
  return lines.join('\n');
}
