import { hotPlans } from './grown-plans.js';
import { measureJanitor } from './grown-janitor.js';
import { measureLists } from './grown-lists.js';
import { fillTables, tableSizes } from './grown-rows.js';
import { hotOperations } from './grown-statements.js';
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

/** What each hot operation costs PostgreSQL with tables of so many rows: microseconds, medians of the rounds, in which they take turns. */
async function measureHot({ ctx }: Product, size: number, plan: Plan, postgres: number): Promise<Map<string, number>> {
  const operations = await hotOperations(ctx, size);
  const cells = new Map(operations.map(({ name }) => [name, [] as number[]]));
  for (const { run } of operations) await rate(run, plan.warmUp, postgres);
  for (let round = 0; round < plan.rounds; round++) {
    for (const { name, run } of round % 2 === 0 ? operations : operations.toReversed())
      cells.get(name)?.push((await rate(run, plan.seconds, postgres)).postgres_us);
  }
  return new Map([...cells].map(([name, of]) => [name, median(of)]));
}

/** Roles that half of the people hold, and fifty of them. */
async function addRoles({ ctx }: Product): Promise<void> {
  await ctx.knex.raw(
    `insert into roles (environment_id, id, name, created_at, updated_at)
     select ?, gen_random_uuid(), name, now(), now() from unnest(array['Everybody', 'Rare']) name`,
    [ctx.environment.id],
  );
}

async function giveRoles({ ctx }: Product, size: number): Promise<void> {
  for (const [name, most] of [
    ['Rare', 50],
    ['Everybody', size / 10],
  ] as const)
    // prettier-ignore
    await ctx.knex.raw(
      `insert into user_roles (environment_id, user_id, role_id)
       select u.environment_id, u.id, r.id from users u join roles r on r.environment_id = u.environment_id and r.name = ?
       where u.environment_id = ? and u.email_key like 'person%' limit ?`,
      [name, ctx.environment.id, Math.floor(most)],
    );
}

/**
 * The hot statements with ten thousand rows in each of the tables that grow and with `size` of them; every list then; the janitor beside a steady load; and
 * how the hot statements find their rows. Text.
 */
export async function measureGrowth(target: Product, url: string, size: number, plan: Plan, postgres: number): Promise<string> {
  const { ctx } = target;
  const lines: string[] = [];
  const tell = (...some: string[]) => {
    for (const line of some) console.error(line);
    lines.push(...some);
  };
  await addRoles(target);
  await fillTables(target, url, small, 1);
  const before = await measureHot(target, small, plan, postgres);
  const began = performance.now();
  await fillTables(target, url, size, 2);
  await giveRoles(target, size);
  tell(`filled in ${((performance.now() - began) / 1000).toFixed(0)} s`, ...(await tableSizes(url)));
  const after = await measureHot(target, size, plan, postgres);
  for (const [name, us] of before)
    tell(
      `${name.padEnd(26)} ${us.toFixed(0).padStart(5)} us of PostgreSQL at ${small} rows, ${(after.get(name) ?? 0).toFixed(0).padStart(5)} at ${size}: ${((after.get(name) ?? 0) / us).toFixed(2)} times`,
    );
  tell(...(await measureLists(target, size, administrator)));
  const insert = (await hotOperations(ctx, size)).find(({ name }) => name === 'token, opaque');
  if (insert) tell(...(await measureJanitor(ctx, insert.run, Math.min(size, 300_000), postgres)));
  tell(...(await hotPlans(ctx)));
  return lines.join('\n');
}
