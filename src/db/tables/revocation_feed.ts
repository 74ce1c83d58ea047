import { run, type Scope } from '../scope.js';

/** Which tokens ended: what they have to say, of several all, and when they were issued. Rows are written by triggers, with what ends them. */
export type RevocationEntry = {
  /** Of a token, or of the grant that it is of (`gid`). */
  readonly jti?: string;
  readonly sid?: string;
  readonly sub?: string;
  readonly client_id?: string;
  readonly org_id?: string;
  readonly aud?: string;
  /** A client that is one of those who act (`act`, RFC 8693 4.1). */
  readonly act?: string;
  /** Seconds: those that were issued before; all without. */
  readonly before?: number;
  /** Seconds: when the last of them has expired. */
  readonly until: number;
};

/** A place in the feed: after the row, or from the moment on (microseconds, as text). */
export type RevocationPosition = { readonly at: string; readonly id: string | null };

export type RevocationPage = {
  readonly entries: readonly RevocationEntry[];
  /** After the last entry; null when there are none. */
  readonly last: RevocationPosition | null;
  /** What the database takes for now, in microseconds. */
  readonly now: string;
};

type Row = { now: string; entries: RevocationEntry[]; last_at: string | null; last_id: string | null };

const microseconds = (time: string) => `(extract(epoch from ${time}) * 1000000)::bigint::text`;

/** Up to `limit` entries of what may still be alive at `now`, in the order in which they were noted. */
export async function readRevocations(scope: Scope, after: RevocationPosition, now: Date, limit: number): Promise<RevocationPage> {
  const text = `
    with page as (
      select * from revocation_feed
      where environment_id = $1 and until > $4
        and (noted_at, id) > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
      order by noted_at, id limit $5
    ), last as (select noted_at, id from page order by noted_at desc, id desc limit 1)
    select ${microseconds('clock_timestamp()')} as now, ${microseconds('(select noted_at from last)')} as last_at, (select id from last) as last_id,
      coalesce((select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('jti', jti, 'sid', sid, 'sub', sub, 'client_id', client_id, 'org_id', org_id, 'aud', aud, 'act', act,
        'before', extract(epoch from before), 'until', ceil(extract(epoch from until)))) order by noted_at, id) from page), '[]') as entries`;
  const [row] = await run<Row>(scope, { name: 'revocation_feed.read', text }, [after.at, after.id, now, limit]);
  const { now: at, entries, last_at, last_id } = row as Row;
  return { now: at, entries, last: last_at === null ? null : { at: last_at, id: last_id } };
}
