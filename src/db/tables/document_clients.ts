import { run, type Scope } from '../scope.js';

/** Notes that the document of the client was read again and is the same; nobody has to forget the client for that. */
export async function noteDocumentRead(scope: Scope, id: string, at: { read_at: Date; fresh_until: Date }): Promise<void> {
  const text = `update clients set document_read_at = $3, document_fresh_until = $4
      where environment_id = $1 and id = $2 and document_read_at < $3`;
  await run(scope, { name: 'clients.note_document_read', text }, [id, at.read_at, at.fresh_until]);
}

/** Notes that no document describes the client any more; false when that was known, or there is no such client. */
export async function endDocument(scope: Scope, id: string, at: Date): Promise<boolean> {
  scope.touched.add('clients');
  const text = `update clients set document_ended_at = $3, document_read_at = $3, updated_at = $3, version = version + 1
      where environment_id = $1 and id = $2 and origin = 'metadata_document' and document_ended_at is null returning id`;
  const rows = await run<{ id: string }>(scope, { name: 'clients.end_document', text }, [id, at]);
  return rows.length === 1;
}

/** Verifies clients of documents whose host is one of `hosts` (names, or `*.example.com`), and no longer those that were verified for their host alone. */
export async function verifyListedHosts(scope: Scope, hosts: readonly string[], at: Date): Promise<void> {
  scope.touched.add('clients');
  const text = `update clients c set verified = judged.listed, verified_by_host = judged.listed, updated_at = $3, version = c.version + 1
      from (
        select found.id, exists (
          select 1 from unnest($2::text[]) as one (host)
          where case when one.host like '*.%' then found.host like '%_' || substr(one.host, 2) else found.host = one.host end
        ) as listed
        from (
          select id, substring(id from '^https?://(\\[[^]]*\\]|[^/:?#]+)') as host
          from clients where environment_id = $1 and origin = 'metadata_document' and (verified_by_host or not verified)
        ) as found
      ) as judged
      where c.environment_id = $1 and c.id = judged.id and c.verified <> judged.listed`;
  await run(scope, { name: 'clients.verify_listed_hosts', text }, [hosts, at]);
}
