import { fapi2Problems, type Fapi2Settings } from '../../../domain/clients/fapi2.js';
import { isFapi2, takesTokensOf } from '../../../domain/clients/profile.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Choice, Part, TableRow, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { includedRecord, may, relatedOf } from '../../parts/records/objects.js';
import { code, quiet, text, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const profileLabels = { fapi2: 'FAPI 2.0' } as const;

export const profileChoices = async (): Promise<Choice[]> =>
  Object.entries(profileLabels).map(([value, label]) => ({ value, label, hint: null }));

type Attributes = Fapi2Settings & { readonly profile: 'fapi2' | null };
const attributesOf = (record: ResourceObject) => record.attributes as unknown as Attributes;

export const profileValue = (profile: unknown): Value => (profile === 'fapi2' ? text(profileLabels[profile]) : quiet(terms.none));

/** API resources that the client has a grant for and whose tokens its profile rules out. */
async function refusedResources({ req }: ViewContext, record: ResourceObject): Promise<TableRow[]> {
  const { call } = req;
  if (!may(call, 'client_grants', 'read') || !may(call, 'api_resources', 'read')) return [];
  const listing = await relatedOf(call, 'clients', record.id, 'client_grants', { size: 100, include: 'api_resource' });
  const resources = listing.records.flatMap((grant) => includedRecord(grant, 'api_resource', listing.included) ?? []);
  const refused = resources.filter(({ attributes: a }) => !takesTokensOf(attributesOf(record), a as Parameters<typeof takesTokensOf>[1]));
  return [...new Map(refused.map((one) => [one.id, one])).values()].map(({ id, attributes }) => ({
    path: recordPath('api_resources', id),
    cells: [text(attributes['name']), text('Its tokens are JWTs signed with RS256, so this client can’t get them (invalid_target).')],
  }));
}

/**
 * The rules of the client's profile that aren't met. No change of the client leaves one: configuration does (`ALLOW_PRIVATE_NETWORK`), and API resources that it
 * has grants for.
 */
export async function profileParts(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const settings = attributesOf(record);
  if (!isFapi2(settings)) return [];
  const own = fapi2Problems(settings, view.req.ctx.config).map(({ attribute, detail }): TableRow => ({
    cells: [
      code([attribute].flat().map(words).join('.')),
      text(detail.replace(/^FAPI 2\.0: (.)/, (_, first: string) => first.toUpperCase())),
    ],
  }));
  const rows = [...own, ...(await refusedResources(view, record))];
  if (rows.length === 0) return [];
  const columns = ['Where', 'Violation'];
  return [pageTable({ id: 'unmet', caption: 'Unmet FAPI 2.0 requirements', columns, rows, nothing: ['All are met', ''] })];
}
