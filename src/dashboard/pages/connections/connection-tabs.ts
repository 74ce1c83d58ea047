import { activityTabOf } from '../../parts/activity/timeline.js';
import type { Part } from '../../parts/page-parts.js';
import { recordsTable } from '../../parts/page-tables.js';
import type { ViewContext, TabSpec } from '../../parts/records/presentation.js';
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
  return recordsTable(view, identitiesPresentation, listing, {
    id: proven ? 'proven' : 'void',
    caption: proven ? 'Active connected accounts' : terms.suspended_until_verified_again,
    without: terms.connection,
    nothing: ['No accounts that sign in', 'Accounts appear when people sign in through this connection.'],
  });
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
