import type { Request, Response } from 'express';
import { readRevocations, type RevocationPosition } from '../db/tables/revocation_feed.js';
import { algorithmFor } from '../domain/clients/profile.js';
import { signerFor } from '../domain/signing-keys/signing-keys.js';
import { signJwt } from '../domain/tokens/formats/jwt.js';
import { OAuthError } from '../errors.js';
import { enforce } from '../http/limits/rate-limits.js';
import { isKnown } from '../http/request/entity-tags.js';
import { queryOf } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { digest } from '../lib/digest.js';

/** Of one client, whose replicas read every five seconds each. */
const reads = { limit: 600, windowSeconds: 60 };
const pageSize = 1000;
const lifetimeSeconds = 60;
/** Whoever has a page that says the same is sent none, for as long as that one is young. */
const sameSeconds = 10;
/** What is noted becomes visible with its transaction: whoever has read everything reads so much again, and no transaction takes as long. */
const overlapMicroseconds = 120_000_000n;

type Cursor = RevocationPosition & {
  /** Where to begin again once everything is read; null: at the first page. */
  readonly from: string | null;
};

const start: Cursor = { at: '0', id: null, from: null };

/** `moment`, or in the middle of everything `moment~row~moment`. */
const shape = /^(\d{1,17})(?:~([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})~(\d{1,17}))?$/;

function cursorOf(after: string | undefined): Cursor {
  if (after === undefined) return start;
  const [, at, id = null, from = null] = shape.exec(after) ?? [];
  if (at === undefined) throw OAuthError.invalid_request('after is none that this feed gave: leave it out to begin anew');
  return { at, id, from };
}

/**
 * GET /oauth/revocations, or POST for clients that authenticate in the body: a page of the revocation feed, signed. One statement. For clients that may
 * introspect others' tokens: the feed tells as much.
 */
export function revocations({ limiter }: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { ctx, client } = req;
    if (!client.introspection_allowed) throw OAuthError.unauthorized_client('the client may not introspect tokens of others');
    if (limiter.enabled) enforce(res, await limiter.take(JSON.stringify(['revocations', ctx.environment.id, client.id]), reads));
    const after = cursorOf(req.method === 'POST' ? req.form.get('after') : queryOf(req).get('after'));
    const now = ctx.clock.now();
    const page = await readRevocations(ctx.scope, after, now, pageSize);
    const more = page.entries.length === pageSize;
    const from = after.from ?? String(BigInt(page.now) - overlapMicroseconds);
    const next = more && page.last ? `${page.last.at}~${page.last.id}~${from}` : from;
    const iat = Math.floor(now.getTime() / 1000 / sameSeconds) * sameSeconds;
    const algorithm = client.introspection_signed_response_alg ?? algorithmFor(client);
    const content = { iss: ctx.environment.issuer, iat, exp: iat + lifetimeSeconds, entries: page.entries };
    // `next` moves on with time alone, and doesn't make another page of it.
    const etag = `"${digest(JSON.stringify([algorithm, content, more && next]))
      .subarray(0, 16)
      .toString('base64url')}"`;
    res.setHeader('Cache-Control', 'private, max-age=5');
    res.setHeader('ETag', etag);
    if (isKnown(req, etag)) return void res.status(304).end();
    const signer = await signerFor(ctx, algorithm);
    res.setHeader('Content-Type', 'application/revocations+jwt');
    res.end(await signJwt(ctx, signer, 'revocations+jwt', { ...content, more, next }));
  };
}
