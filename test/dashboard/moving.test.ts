// Imports and exports of users in the dashboard: a form, a file, and what became of its rows.
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { ndjson, runImports } from '../support/imports.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const permissions = [
  'users:read',
  'users:write',
  'roles:read',
  'user_imports:read',
  'user_imports:write',
  'user_exports:read',
  'user_exports:write',
];
const admin = shared(() => signedInWith(service, ...permissions).then((made) => ({ made })));

const pageOf = async (path: string, browser = admin.made) => (await browser.get(path)).text();

/** Makes an import or an export by its form, and answers the address of its page. */
async function begun(path: string, fields: Record<string, string>, browser = admin.made): Promise<string> {
  const answer = await browser.submit(`/dashboard/${path}/new`, fields, `/dashboard/${path}`);
  expect(answer.status).toBe(303);
  return (answer.headers.get('location') ?? '').replace(/\?.*/, '');
}

/** Posts the form of an import with a file, as a browser does. */
async function upload(at: string, file: Buffer | string | null, browser: Browser = admin.made): Promise<Response> {
  const form = new FormData();
  form.set('_csrf', csrfOf(await pageOf('/dashboard', browser)));
  form.set('file', new File(file === null ? [] : [file as string], file === null ? '' : 'people.ndjson'));
  return browser.request(`${at}/data`, { method: 'POST', body: form, headers: { origin: service.url } });
}

/** Says that the import of the file begins. */
const start = (at: string, browser: Browser = admin.made) => browser.submit('/dashboard', { start: 'on' }, `${at}/data`);

const plain = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

/** The value of a row of a record's summary. */
const rowOf = (html: string, label: string) =>
  new RegExp(`<dt[^>]*>\\s*${label}[\\s\\S]*?<dd[^>]*>([\\s\\S]*?)</dd>`).exec(html)?.[1]?.replaceAll(/<[^>]*>/g, '').trim(); // prettier-ignore

const userOf = (email: string) => findUserByEmailKey(ctx.scope, email);

test.each([
  ['plain', (text: string) => text],
  ['gzip', (text: string) => gzipSync(text)],
] as const)('a file, %s, is imported, and the rows that failed are files (specification 18.2.12)', async (kind, packed) => {
  const at = await begun('user_imports', { mode: 'create', dry_run: '', addresses_proven: 'on', emit_events: '' });
  expect(await pageOf(at)).toMatch(/<input type="file"[^>]*name="file"/);
  const email = `moved-${kind}@example.com`;
  const sent = await upload(at, packed(ndjson([{ email, email_verified: true }, { email: '=no address' }])));
  expect([sent.status, sent.headers.get('location')]).toEqual([303, `${at}?done=file_received`]);
  await runImports(service);
  expect(await userOf(email)).toBeNull();
  expect((await start(at)).headers.get('location')).toBe(`${at}?done=import_started`);
  await runImports(service);
  expect(await userOf(email)).toMatchObject({ email_verified: true });
  const page = await pageOf(at);
  expect(page).not.toContain('type="file"');
  expect([rowOf(page, 'Rows'), rowOf(page, 'Created'), rowOf(page, 'Failed')]).toEqual(['2', '1', '1']);
  const rows = await pageOf(`${at}/row_errors`);
  expect(rows).toContain(`href="${at}/row_errors/export?format=csv"`);
  const csv = await admin.made.get(`${at}/row_errors/export?format=csv`);
  expect([csv.status, csv.headers.get('content-disposition')]).toEqual([
    200,
    expect.stringMatching(/^attachment; filename="failed-rows-.*\.csv"$/),
  ]);
  expect(await csv.text()).toMatch(/^"id","line","code","pointer","detail"\r\n[^\r]*,"2",/);
  const json = (await (await admin.made.get(`${at}/row_errors/export?format=json`)).json()) as { line: number }[];
  expect(json.map(({ line }) => line)).toEqual([2]);
  expect((await admin.made.get(`${at}/row_errors/export?format=xml`)).status).toBe(400);
  expect(page).toMatch(/<progress\s+value="(\d+)" max="\1"/);
  // It has its file.
  expect((await upload(at, ndjson([{ email }]))).status).toBe(422);
  expect((await start(at)).status).toBe(422);
});

test('a dry run changes nothing and says so; parameters that are left empty are none (specification 18.2.8)', async () => {
  const at = await begun('user_imports', {
    mode: 'upsert',
    dry_run: 'on',
    'hash_parameters.signer_key': '',
    'hash_parameters.salt_separator': '',
  });
  await upload(at, ndjson([{ email: 'dry@example.com' }]));
  expect(await pageOf(at)).toContain('Start dry run');
  await start(at);
  await runImports(service);
  expect(await userOf('dry@example.com')).toBeNull();
  expect(await pageOf(at)).toContain('This was a dry run: nothing was changed.');
});

test.each([
  ['plain', (text: string) => text],
  ['gzip', (text: string) => gzipSync(text)],
] as const)(
  'before anything is imported, the page tells what each attribute of the file becomes: %s (specification 18.2.12, attack 50.1479)',
  async (_kind, packed) => {
    const at = await begun('user_imports', { mode: 'create' });
    const secret = `$2b$10$${'S'.repeat(53)}`;
    const first = { email: 'one@example.com', frist_name: '<b>Ada</b>', email_verified: true, password_hash: secret, shoe: 43 };
    await upload(
      at,
      packed(
        ndjson([
          first,
          { email: 'nowhere' },
          { email: 'two@example.com', first_name: 'x'.repeat(200), password: 'in plain', ['n'.repeat(60_000)]: 1 },
        ]),
      ),
    );
    const html = await pageOf(at);
    const page = plain(html);
    expect(rowOf(html, 'Status')).toBe('Not started');
    expect(page).toContain('Attributes of the first 3 rows');
    expect(page).toMatch(/\bfirst_name First name x{79}…/);
    expect(page).toContain('email_verified Ignored: “Addresses are verified” isn’t selected true');
    expect(page).toContain('frist_name Unknown: its rows fail. Did you mean first_name?');
    expect(page).toContain('shoe Unknown: its rows fail. 43');
    expect(page).toContain('password_hash Password hash bcrypt');
    expect(page).toMatch(/\bn{79}… Unknown: its rows fail/);
    expect(html.length).toBeLessThan(60_000);
    expect(page).toContain('3 of them would fail');
    expect(html).toContain('&lt;b&gt;Ada');
    for (const hidden of ['SSSS', 'in plain']) expect(html).not.toContain(hidden);
    expect((await upload(at, 'another file')).status).toBe(422);
    for (const browser of [await signedInWith(service, ...permissions), await signedInWith(service, 'user_imports:read')]) {
      expect(plain(await pageOf(at, browser))).not.toContain('one@example.com');
      expect((await start(at, browser)).status).toBe(403);
    }
    await admin.made.submit(`${at}/cancel`, {});
    expect(await pageOf(at)).not.toContain('Start import');
  },
);

test('a file that can’t be unpacked, goes on without a line, or is blank, is told before the import starts (attack 50.1464)', async () => {
  for (const [file, words] of [
    [Buffer.from([0x1f, 0x8b, 1, 2, 3]), 'it is no whole gzip'],
    [gzipSync(Buffer.alloc(20 * 1024 * 1024, 'x')), 'or its lines than 64 KiB'],
    ['\n\n', 'The file has no rows.'],
  ] as const) {
    const at = await begun('user_imports', { mode: 'create' });
    expect((await upload(at, file as string)).status).toBe(303);
    expect(plain(await pageOf(at))).toContain(words);
    await admin.made.submit(`${at}/cancel`, {});
  }
  const at = await begun('user_imports', { mode: 'create' });
  expect((await start(at)).status).toBe(422);
  await admin.made.submit(`${at}/cancel`, {});
});

test('no file, an empty one and one that is too large are refused beside the field, and the import waits on (specification 18.2.12)', async () => {
  const at = await begun('user_imports', { mode: 'create' });
  for (const [file, words] of [
    [null, 'Choose a file that isn’t empty.'],
    ['', 'Choose a file that isn’t empty.'],
    [Buffer.alloc(8 * 1024 * 1024 + 1, 'x'), 'The file is too large: at most 8 MiB. Compress it, or send larger ones with idp import.'],
  ] as const) {
    const answer = await upload(at, file);
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain(words);
  }
  expect((await upload(at, Buffer.alloc(17 * 1024 * 1024, 'x'))).status).toBe(413);
  expect(await pageOf(at)).toContain('type="file"');
  expect((await admin.made.submit(`${at}/cancel`, {})).status).toBe(303);
  expect((await upload(at, ndjson([{ email: 'late@example.com' }]))).status).toBe(422);
  expect((await upload(`${at}x`, 'x')).status).toBe(404);
});

test('only who made the import brings its file (specification 18.2.6)', async () => {
  const at = await begun('user_imports', { mode: 'create' });
  const other = await signedInWith(service, ...permissions);
  expect(await pageOf(at, other)).not.toContain('type="file"');
  expect((await upload(at, ndjson([{ email: 'other@example.com' }]), other)).status).toBe(403);
  const reader = await signedInWith(service, 'user_imports:read');
  expect((await upload(at, ndjson([{ email: 'other@example.com' }]), reader)).status).toBe(403);
  expect(await pageOf(at)).toContain('type="file"');
});

test('an export is downloaded from its page, for 15 minutes and by whoever may (specification 18.3.2)', async () => {
  const { email } = await addUser(ctx);
  const at = await begun('user_exports', { include_password_hashes: '' });
  expect(await pageOf(at)).toContain(`href="${at}/data"`);
  const file = await admin.made.get(`${at}/data`);
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  expect(await file.text()).toContain(`"email":"${email}"`);
  const reader = await signedInWith(service, 'user_exports:read');
  expect((await reader.get(`${at}/data`)).status).toBe(403);
  const hashes = await admin.made.submit('/dashboard/user_exports/new', { include_password_hashes: 'on' }, '/dashboard/user_exports');
  expect(hashes.status).toBe(403);
  await ctx.db.knex('user_exports').update({ expires_at: new Date(0) });
  expect(await pageOf(at)).not.toContain(`href="${at}/data"`);
  expect((await admin.made.get(`${at}/data`)).status).toBe(410);
});
