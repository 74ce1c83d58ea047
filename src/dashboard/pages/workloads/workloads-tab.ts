import { listWorkloadRefusals } from '../../../db/tables/workload_refusals.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { includedRecord, may, relatedOf } from '../../parts/records/objects.js';
import { text, time } from '../../parts/values.js';
import { claimLines } from './claim-lines.js';
import { terms } from '../../parts/words.js';

/** Which workloads are the client, and why the last ones that wanted to be it weren't. */
export async function workloadsTab({ req, now }: ViewContext, { id }: ResourceObject): Promise<readonly Part[]> {
  const { call } = req;
  const include = may(call, 'trusted_issuers', 'read') ? 'trusted_issuer' : undefined;
  const listing = await relatedOf(call, 'clients', id, 'federated_credentials', { size: 100, include });
  const path = `/dashboard/federated_credentials/new?client=${encodeURIComponent(id)}`;
  const button = may(call, 'federated_credentials', 'write')
    ? { label: terms.create_federated_credential, path, variant: 'quiet' as const }
    : null;
  const rows = listing.records.map((record) => ({
    path: recordPath('federated_credentials', record.id),
    cells: [
      text(includedRecord(record, 'trusted_issuer', listing.included)?.attributes['name'] ?? terms.issuer),
      claimLines(record),
      time(record.attributes['created_at'], now),
    ],
  }));
  const refusals = await listWorkloadRefusals(call.ctx.scope, id);
  return [
    pageTable({
      id: 'workloads',
      caption: terms.federated_credentials,
      columns: [terms.issuer, terms.claims, terms.created],
      rows,
      nothing: [
        terms.no_federated_credentials_yet,
        'Lets a CI job, a pod or a cloud workload authenticate as this client, without a secret.',
        button,
      ],
    }),
    ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : []),
    pageTable({
      id: 'refusals',
      caption: 'Last refused tokens',
      columns: [terms.time, terms.reason],
      rows: refusals.map(({ refused_at, reason }) => ({ cells: [time(refused_at.toISOString(), now), text(reason)] })),
      nothing: ['No refused tokens', 'The last ten refused workload tokens for this client appear here for 30 days, with the reason.'],
    }),
  ];
}
