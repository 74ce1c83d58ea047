import { jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';

/** With what the feed is read: a confidential client of the API's own, with `introspection_allowed`. */
export type RevocationsOptions = { readonly clientId: string; readonly clientSecret: string };

type Entry = Readonly<Record<string, unknown>> & { readonly before?: number; readonly until: number };
type Page = JWTPayload & { readonly entries: readonly Entry[]; readonly more: boolean; readonly next: string; readonly iat: number };

type FeedOptions = RevocationsOptions & {
  readonly issuer: string;
  readonly fetch: typeof globalThis.fetch;
  readonly keys: JWTVerifyGetKey;
  readonly algorithms: string[];
  readonly clockTolerance: number;
};

const readEveryMs = 5000;
const afterFailureMs = 1000;
const maxAgeSeconds = 60;
const maxPages = 1000;
/** What an entry is looked up by: the first of these that it has. */
const members = ['jti', 'sid', 'sub', 'client_id', 'org_id', 'aud', 'act'] as const;

/** The clients that act by the token, the present one first (RFC 8693 4.1). */
function actors(act: unknown): unknown[] {
  if (typeof act !== 'object' || act === null) return [];
  const { client_id, act: earlier } = act as Record<string, unknown>;
  return [client_id, ...actors(earlier)];
}

function values(claims: JWTPayload, member: string): unknown[] {
  if (member === 'jti') return [claims.jti, claims['gid']];
  return member === 'act' ? actors(claims['act']) : [claims[member]].flat();
}

/** In seconds: `iat` counts whole ones, the time in a `jti` (RFC 9562 5.7) tells the rest. */
function issuedAt({ iat = 0, jti = '' }: JWTPayload): number {
  const made = Number.parseInt(jti.replace('-', '').slice(0, 12), 16) / 1000;
  return made >= iat && made < iat + 1 ? made : iat;
}

function ends(entry: Entry, claims: JWTPayload): boolean {
  if (members.some((member) => entry[member] !== undefined && !values(claims, member).includes(entry[member]))) return false;
  // What a person allowed for longer than a session doesn't end with it.
  if (entry['sid'] !== undefined && String(claims['scope']).split(' ').includes('offline_access')) return false;
  return entry.before === undefined || issuedAt(claims) < entry.before;
}

/** Follows the revocation feed as tokens are verified. @returns refuses the claims of a token that has ended, and any once the feed is over 60 seconds old */
export function followRevocations({ issuer, clientId, clientSecret, fetch, keys, algorithms, clockTolerance }: FeedOptions) {
  const authorization = `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}`;
  const known = new Map<string, Map<string, Entry>>();
  let next: string | null = null;
  let etag: string | null = null;
  let asOf = 0;
  let readAgainAt = 0;
  let reading: Promise<void> | null = null;
  let problem: unknown;

  function note(entry: Entry): void {
    const member = members.find((name) => entry[name] !== undefined);
    if (member === undefined) return;
    const key = `${member} ${String(entry[member])}`;
    const there = known.get(key) ?? new Map<string, Entry>();
    known.set(key, there.set(JSON.stringify(entry), entry));
  }

  function forgetExpired(): void {
    for (const [key, entries] of known) {
      for (const [text, { until }] of entries) if (until < Date.now() / 1000 - clockTolerance) entries.delete(text);
      if (entries.size === 0) known.delete(key);
    }
  }

  async function page(after: string | null, tag: string | null): Promise<{ page: Page; etag: string | null } | null> {
    const url = `${issuer}/oauth/revocations${after === null ? '' : `?after=${encodeURIComponent(after)}`}`;
    const headers = { authorization, ...(tag === null ? {} : { 'if-none-match': tag }) };
    const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(readEveryMs) });
    if (response.status === 304 && tag !== null) return null;
    if (response.status === 400) next = null;
    if (response.status !== 200) throw new Error(`the revocation feed answers ${response.status}: ${await response.text()}`);
    const requiredClaims = ['iat', 'exp', 'entries', 'more', 'next'];
    const options = { issuer, algorithms, typ: 'revocations+jwt', requiredClaims, clockTolerance };
    const { payload } = await jwtVerify(await response.text(), keys, options);
    return { page: payload as Page, etag: response.headers.get('etag') };
  }

  async function read(): Promise<void> {
    const first = await page(next, etag);
    if (!first) return;
    let current = first.page;
    for (let pages = 1; ; pages += 1) {
      current.entries.forEach(note);
      if (!current.more) break;
      const following = pages < maxPages ? await page(current.next, null) : null;
      if (!following) throw new Error('the revocation feed has no end');
      current = following.page;
    }
    etag = first.page.more ? null : first.etag;
    next = current.next;
    asOf = first.page.iat;
    forgetExpired();
  }

  return async (claims: JWTPayload): Promise<void> => {
    if (Date.now() >= readAgainAt)
      await (reading ??= read()
        .then(
          () => (readAgainAt = Date.now() + readEveryMs),
          (error: unknown) => {
            problem = error;
            readAgainAt = Date.now() + afterFailureMs;
          },
        )
        .then(() => void (reading = null)));
    if (Date.now() / 1000 - asOf > maxAgeSeconds) throw new Error('the revocation feed is over 60 seconds old', { cause: problem });
    const found = members.flatMap((member) =>
      values(claims, member).flatMap((value) => [...(known.get(`${member} ${String(value)}`)?.values() ?? [])]),
    );
    if (found.some((entry) => ends(entry, claims))) throw new Error('the access token has ended before its time');
  };
}
