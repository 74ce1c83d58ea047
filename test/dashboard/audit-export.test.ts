import { beforeAll, describe, expect, test } from 'vitest';
import { insertAuditLog } from '../../src/db/tables/audit_logs.js';
import { csvField } from '../../src/lib/csv.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser } from '../support/browser.js';
import { signedInWith } from '../support/administrators.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
let browser: Browser;
const hostile = '=HYPERLINK("https://evil.example","click")';
const entries = 1_250;

const ctx = contextOf(service);

beforeAll(async () => {
  for (let i = 0; i < entries; i++) {
    const occurred_at = new Date(ctx.clock.now().getTime() - i * 1000);
    await insertAuditLog(ctx.scope, {
      id: uuidv7(occurred_at.getTime()),
      occurred_at,
      action: i % 5 === 0 ? 'role.created' : 'user.updated',
      outcome: i % 10 === 0 ? 'denied' : 'success',
      reason: null,
      actor_kind: 'user',
      actor_id: null,
      actor_display: i === 7 ? hostile : `admin ${i}, "the ${i}th"`,
      actor_permissions: [],
      target_type: 'user',
      target_id: `target-${i}`,
      target_display: null,
      changes: { name: ['old', 'new\nline'] },
      ip_address: null,
      user_agent: i === 8 ? '@SUM(1+1)' : 'Mozilla/5.0',
      request_id: `request-${i}`,
      idempotency_key_digest: null,
    });
  }
  browser = await signedInWith(service, 'audit_logs:read');
}, 60_000);

/** The records of a CSV file, by RFC 4180. */
const parse = (csv: string): string[][] =>
  csv
    .split(/\r\n(?=")|\r\n$/)
    .filter((line) => line !== '')
    .map((line) => [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, field = '']) => field.replaceAll('""', '"')));

const lines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; action: string; outcome: string; changes: unknown });

describe('the export of the audit log', () => {
  test('NDJSON: every entry once, the newest first, and the export is one itself', async () => {
    const answer = await browser.get('/dashboard/audit_logs/export?format=ndjson');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-log-\d{4}-\d\d-\d\d\.ndjson"$/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    // Beside them there are the sign-in of whoever exports, and the export.
    const found = lines(await answer.text()).filter(({ action }) => !['audit_log.exported', 'login.succeeded'].includes(action));
    expect(found).toHaveLength(entries);
    expect(new Set(found.map(({ id }) => id)).size).toBe(entries);
    expect(found[0]?.changes).toEqual({ name: ['old', 'new\nline'] });
    const again = lines(await (await browser.get('/dashboard/audit_logs/export?format=ndjson&action=audit_log.exported')).text());
    expect(again[0]).toMatchObject({ action: 'audit_log.exported', outcome: 'success', changes: { format: [null, 'ndjson'] } });
  });

  test('CSV: a table that spreadsheets read and don’t run', async () => {
    const answer = await browser.get('/dashboard/audit_logs/export?format=csv&action=user.updated');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    const [head = [], ...rows] = parse(await answer.text());
    expect(head.slice(0, 7)).toEqual(['occurred_at', 'action', 'outcome', 'reason', 'actor_kind', 'actor_id', 'actor']);
    expect(rows).toHaveLength(entries - entries / 5);
    expect(rows.every((row) => row.length === head.length)).toBe(true);
    const column = (name: string) => rows.map((row) => row[head.indexOf(name)]);
    expect(column('actor')).toContain(`'${hostile}`);
    expect(column('actor')).toContain('admin 1, "the 1th"');
    expect(column('user_agent')).toContain(`'@SUM(1+1)`);
    expect(rows.flat().filter((field) => /^[=+\-@\t\r]/.test(field))).toEqual([]);
  });

  test.each(['=1', '+1', '-1', '@x', '\tx', '\rx', '\nx', '＝1'])('%j is set behind an apostrophe', (value) => {
    expect(csvField(value)).toBe(`"'${value}"`);
  });

  test('follows the filters of the list, whose buttons name them', async () => {
    const html = await (await browser.get('/dashboard/audit_logs?outcome=denied&action=role.created')).text();
    const [, href = ''] = /href="([^"]*\/export\?[^"]*format=ndjson[^"]*)"/.exec(html) ?? [];
    const found = lines(await (await browser.get(href.replaceAll('&amp;', '&').replaceAll('&#38;', '&'))).text());
    expect(found).toHaveLength(entries / 10);
    expect(new Set(found.map(({ action, outcome }) => `${action} ${outcome}`))).toEqual(new Set(['role.created denied']));
  });

  test('refuses other formats, filters that don’t fit, and whoever may not read the log', async () => {
    expect((await browser.get('/dashboard/audit_logs/export')).status).toBe(400);
    expect((await browser.get('/dashboard/audit_logs/export?format=__proto__')).status).toBe(400);
    const bad = await browser.get('/dashboard/audit_logs/export?format=csv&outcome=perhaps');
    expect([bad.status, bad.headers.get('content-disposition')]).toEqual([400, null]);
    const other = await signedInWith(service, 'users:read');
    expect((await other.get('/dashboard/audit_logs/export?format=csv')).status).toBe(403);
    const denied = lines(
      await (await browser.get('/dashboard/audit_logs/export?format=ndjson&action=audit_log.exported&outcome=denied')).text(),
    );
    expect(denied).toHaveLength(1);
    expect((await new Browser(service.url).get('/dashboard/audit_logs/export?format=csv')).status).toBe(303);
  });

  test('reads a page at a time: nothing more is read once the reader has gone', async () => {
    const seen: string[] = [];
    const note = ({ sql }: { sql: string }) => void (sql.includes('"audit_logs"') && sql.includes('cursor_values') && seen.push(sql));
    service.deps.db.knex.on('query', note);
    const stop = new AbortController();
    const answer = await browser.request('/dashboard/audit_logs/export?format=ndjson', { signal: stop.signal });
    await answer.body?.getReader().read();
    stop.abort();
    service.deps.db.knex.removeListener('query', note);
    expect(seen.length).toBeLessThan(entries / 100 + 2);
    expect((await browser.get('/dashboard/audit_logs')).status).toBe(200);
  });
});
