// Which of how many rows a page of a list shows, under its filters: exact as far as it is counted, and never what the list waits for.
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { countUpTo } from '../../src/db/lists/list.js';
import { insertUser } from '../../src/db/tables/users.js';
import { shownRowsWords } from '../../src/dashboard/parts/lists/shown-rows.js';
import { maxListed } from '../../src/dashboard/parts/records/objects.js';
import { uuidv7 } from '../../src/lib/random.js';
import { countRecords } from '../../src/management/records.js';
import type { Resource } from '../../src/management/resource.js';
import { users } from '../../src/management/resources/users.js';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { addEnvironment } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import type { Context } from '../../src/domain/context.js';

const service = sharedService();
const ctx = contextOf(service);
let browser: Browser;

async function addPeople({ scope, clock }: Context, name: string, count: number): Promise<void> {
  const times = { created_at: clock.now(), updated_at: clock.now() };
  for (let n = 0; n < count; n++) {
    const email = `${name}${n}@people.example`;
    await insertUser(scope, { id: uuidv7(clock.now().getTime()), email, email_key: email, first_name: name, ...times });
  }
}

beforeAll(async () => {
  await addPeople(ctx, 'zara', 60);
  browser = await signedInWith(service, 'users:read', 'clients:read');
});

const html = async (path: string) => (await (await browser.get(path)).text()).replaceAll('&amp;', '&');
const shownIn = (page: string) => /<p class="row-count">([^<]+)</.exec(page)?.[1] ?? null;
const linkIn = (page: string, rel: 'next' | 'prev') => new RegExp(`href="([^"]+)" rel="${rel}"`).exec(page)?.[1] ?? '';

test('each page of a list says which rows of how many it shows, forth and back (specification 9.2.14)', async () => {
  const first = await html('/dashboard/users?search=zara');
  const second = await html(linkIn(first, 'next'));
  const third = await html(linkIn(second, 'next'));
  expect([first, second, third].map(shownIn)).toEqual(['1–25 of 60', '26–50 of 60', '51–60 of 60']);
  const back = await html(linkIn(third, 'prev'));
  expect([shownIn(back), shownIn(await html(linkIn(back, 'prev')))]).toEqual(['26–50 of 60', '1–25 of 60']);
  expect(shownIn(await html('/dashboard/users?search=zara5'))).toBe('1–11 of 11');
  expect(shownIn(await html('/dashboard/users?search=nobodyatall'))).toBeNull();
});

test('an address that lies about its place, or has none, still shows its rows (attack 33.1170)', async () => {
  const next = linkIn(await html('/dashboard/users?search=zara'), 'next');
  for (const from of ['', '0', '-1', '1e9', '99999999999999999999', '<b>'])
    expect([from, shownIn(await html(next.replace('from=26', `from=${encodeURIComponent(from)}`)))]).toEqual([from, '60 in all']);
});

test('a total is of the environment alone, and counted up to a bound', async () => {
  await addPeople(await addEnvironment(service.deps, 'elsewhere'), 'zara', 3);
  expect(shownIn(await html('/dashboard/users?search=zara'))).toBe('1–25 of 60');
  const source = { table: 'users', key: 'id', keyType: 'uuid' as const };
  expect([await countUpTo(ctx.scope, source, [], 40, 5_000), await countUpTo(ctx.scope, source, [], 10_000, 5_000)]).toEqual([40, 61]);
  expect(shownRowsWords({ first: 9_976, total: maxListed }, 25)).toBe('9,976–10,000 of 10,000');
  expect(shownRowsWords({ first: 1, total: maxListed + 1 }, 25)).toBe('1–25 of 10,000+');
});

test('a list does not wait for a total that takes long: it goes without (attack 33.1171)', async () => {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    await client.query('begin; lock table users in access exclusive mode');
    const request = { conditions: [], sort: [], size: 25, after: null, before: null };
    expect(await countRecords(ctx, users as unknown as Resource, request, 10_001)).toBeNull();
  } finally {
    await client.end();
  }
  expect(shownRowsWords({ first: 26, total: null }, 25)).toBe('26–50');
  expect(shownRowsWords({ first: null, total: null }, 25)).toBeNull();
});
