import type { Part } from '../page-parts.js';
import { recordPath, type ViewContext, type TabSpec } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { listOf } from '../resource-objects.js';
import { readableIncludes } from '../resource-record.js';
import { identities } from './user-links.js';
import { sentences, terms } from '../words.js';

const most = 50;

async function links(look: ViewContext, connection: ResourceObject, proven: boolean): Promise<Part | null> {
  const { req } = look;
  const include = readableIncludes(req, { path: identities.path, recordInclude: identities.include });
  const filters = { connection: connection.id, proven: String(proven) };
  const listing = await listOf(req.call, identities.path, { filters, size: most, include });
  if (!proven && listing.records.length === 0) return null;
  const columns = identities.columns.filter(({ label }) => label !== terms.connection);
  return {
    kind: 'table',
    id: proven ? 'proven' : 'void',
    caption: proven ? terms.active_connected_accounts : terms.suspended_until_verified_again,
    heading: true,
    columns: columns.map(({ label }) => ({ label })),
    rows: listing.records.map((one) => ({
      path: recordPath(identities.path, one.id),
      cells: columns.map((column) => column.value(one, look, listing)),
    })),
    empty: { title: terms.no_accounts_that_sign_in, text: sentences.one_appears_when_somebody_signs, button: null },
    pager: null,
  };
}

/** The accounts that are connected through a connection, those first whose link its last change has voided. */
async function identitiesTab(look: ViewContext, connection: ResourceObject): Promise<readonly Part[]> {
  const parts = [await links(look, connection, false), await links(look, connection, true)];
  return parts.filter((part) => part !== null);
}

/** The tabs of a connection. */
export const connectionTabs: readonly TabSpec[] = [
  { name: 'identities', label: terms.connected_accounts, needs: 'identities', parts: identitiesTab },
];
