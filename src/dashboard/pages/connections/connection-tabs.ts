import { activityTabOf } from '../../parts/activity/timeline.js';
import type { Part } from '../../parts/page-parts.js';
import { recordPath, type ViewContext, type TabSpec } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { listOf } from '../../parts/records/objects.js';
import { readableIncludes } from '../../parts/records/record.js';
import { refusedAssertionsTab, refusedSignalsTab } from '../agents/refused-tabs.js';
import { identitiesPresentation } from '../users/user-links.js';
import { terms } from '../../parts/words.js';

const most = 50;

async function links(view: ViewContext, connection: ResourceObject, proven: boolean): Promise<Part | null> {
  const { req } = view;
  const include = readableIncludes(req, identitiesPresentation.path, identitiesPresentation.include);
  const filters = { connection: connection.id, proven: String(proven) };
  const listing = await listOf(req.call, identitiesPresentation.path, { filters, size: most, include });
  if (!proven && listing.records.length === 0) return null;
  const columns = identitiesPresentation.columns.filter(({ label }) => label !== terms.connection);
  return {
    kind: 'table',
    id: proven ? 'proven' : 'void',
    caption: proven ? 'Active connected accounts' : terms.suspended_until_verified_again,
    heading: true,
    columns: columns.map(({ label }) => ({ label })),
    rows: listing.records.map((one) => ({
      path: recordPath(identitiesPresentation.path, one.id),
      cells: columns.map((column) => column.value(one, view, listing)),
    })),
    empty: { title: 'No accounts that sign in', text: 'Accounts appear when people sign in through this connection.', button: null },
    pager: null,
  };
}

/** The accounts that are connected through a connection, those first whose link its last change has voided. */
async function identitiesTab(view: ViewContext, connection: ResourceObject): Promise<readonly Part[]> {
  const tables = [await links(view, connection, false), await links(view, connection, true)];
  return tables.filter((part) => part !== null);
}

export const connectionTabs: readonly TabSpec[] = [
  { name: 'identities', label: terms.connected_accounts, needs: 'identities', parts: identitiesTab },
  refusedAssertionsTab('Assertions of this provider that are refused appear here.', ({ attributes }) => attributes['assertions'] === 'on'),
  refusedSignalsTab,
  activityTabOf('connections', 'Refused sign-ins, tests and changes of this connection appear here.'),
];
