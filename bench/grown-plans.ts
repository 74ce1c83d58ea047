import type { Context } from '../src/domain/context.js';
import { acceptedIssuers } from '../src/domain/environment.js';
import { sessionBounds } from '../src/domain/sessions/sessions.js';
import { observeStatements } from '../test/support/statements.js';
import { findAccessToken, findJwtStatus } from '../src/db/tables/access_tokens.js';
import { redeemAuthorizationCode } from '../src/db/tables/authorization_codes.js';
import { findRefreshToken } from '../src/db/tables/refresh_tokens.js';
import { useRefreshToken } from '../src/db/tables/refreshes.js';
import { findSessionByToken } from '../src/db/tables/sessions.js';
import { digest } from '../src/lib/digest.js';
import { uuidv7 } from '../src/lib/random.js';

const hour = 3_600_000;

/** The texts of the statements behind the endpoints under load. */
async function hotStatements(ctx: Context): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const none = digest('none');
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  const later = new Date(now.getTime() + hour);
  const common = {
    digest: none,
    now,
    jti: id,
    event_id: id,
    subscribers: [],
    access_token_digest: none,
    bound: { jkt: null, refresh_jkt: null, proof: null },
  };
  const calls: Record<string, () => Promise<unknown>> = {
    'introspection, opaque': () => findAccessToken(ctx.scope, none, 'permissions', acceptedIssuers(ctx)),
    'introspection, JWT': () =>
      findJwtStatus(
        ctx.scope,
        { ids: [id], user_id: id, session_id: id, organization_id: null, issued_at: ctx.clock.now(), resource: 'https://none.example' },
        'permissions',
      ),
    userinfo: () => findAccessToken(ctx.scope, none, 'user', acceptedIssuers(ctx)),
    session: () => findSessionByToken(ctx.scope, none),
    'refresh, read': () => findRefreshToken(ctx.scope, { id, generation: 1 }, sessionBounds(ctx), { with_user: false }),
    'refresh, write': () =>
      useRefreshToken(ctx.scope, {
        ...common,
        use: { row: { id, generation: 1 }, successor: { id, digest: none }, next_expires_at: later },
        access_token_format: 'opaque',
        access_token_lifetime: 60,
        scope: '',
        audience: '',
        authorization_details: null,
      }),
    'code, redeemed': () =>
      redeemAuthorizationCode(ctx.scope, {
        ...common,
        details: null,
        client_id: '',
        redirect_uri: '',
        code_challenge: null,
        resource: null,
        organization: null,
        issuer: '',
        session_bounds: sessionBounds(ctx),
        refresh: null,
        ends: { refresh_expires_at: later, grant_expires_at: later },
        with_user: false,
      }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const stop = observeStatements((text) => void texts.set(name, text));
    await call();
    stop();
  }
  return texts;
}

const largeTables = /Seq Scan on (access_tokens|refresh_tokens|authorization_codes|sessions|users|revocations|session_clients)/;

/** Each hot statement's generic plan, and whether it reads a table that grows from end to end. */
export async function hotPlans(ctx: Context): Promise<string[]> {
  const lines: string[] = [];
  await ctx.db.knex.transaction(async (trx) => {
    // Tables that are empty here are large there; which of several indexes it takes says something for access_tokens alone.
    await trx.raw('set local enable_seqscan = off');
    for (const [name, text] of await hotStatements(ctx)) {
      const connection = (await trx.client.acquireConnection()) as { query(text: string): Promise<{ rows: { 'QUERY PLAN': string }[] }> };
      const { rows } = await connection.query(`explain (generic_plan, costs off) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      const indexes = [
        ...new Set([...plan.matchAll(/(?:Index (?:Only )?Scan using|Bitmap Index Scan on) (\w+)/g)].map((match) => match[1] ?? '')),
      ];
      lines.push(`${largeTables.test(plan) ? 'SCANS A TABLE' : 'by index'}  ${name}: ${indexes.join(', ')}`);
    }
  });
  return lines;
}
