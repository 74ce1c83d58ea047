import { activityTabOf } from '../../parts/activity/timeline.js';
import type { Part } from '../../parts/page-parts.js';
import { recordsTable } from '../../parts/page-tables.js';
import type { Presentation, TabSpec, ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { listOf, may } from '../../parts/records/objects.js';
import { readableIncludes } from '../../parts/records/record.js';
import { terms } from '../../parts/words.js';
import { connectionsPresentation } from '../connections/connections.js';
import { directoriesPresentation } from './directories.js';
import { organizationInvitationsPresentation } from './organization-invitations.js';
import { organizationDomainsPresentation } from './organization-domains.js';
import { organizationGroupsPresentation } from './organization-groups.js';
import { setupLinksPresentation } from './setup-links.js';
import { organizationMembershipsPresentation } from './organization-memberships.js';

const most = 50;

/** The records of a collection that belong to the organization, and a button that adds one; to `single` ones only where there is none. */
function ownTab(name: string, label: string, presentation: Presentation, single = false): TabSpec {
  const { path, include, create, empty } = presentation;
  async function ownRecords(view: ViewContext, organization: ResourceObject): Promise<readonly Part[]> {
    const { call } = view.req;
    const listing = await listOf(call, path, {
      filters: { organization: organization.id },
      size: most,
      include: readableIncludes(view.req, path, include),
    });
    const caption = listing.next === null ? label : `${label} (the first ${most})`;
    const table = recordsTable(view, presentation, listing, {
      id: name,
      caption,
      heading: false,
      without: terms.organization,
      nothing: [empty.title, empty.text],
    });
    const query = `?organization=${organization.id}`;
    const all = listing.next === null ? [] : [{ label: 'Show all', path: `/dashboard/${path}${query}`, variant: 'quiet' as const }];
    const add =
      create && may(call, path, 'write') && !(single && listing.records.length > 0)
        ? [{ label: create.label, path: `/dashboard/${path}/new${query}`, variant: 'primary' as const }]
        : [];
    return [table, { kind: 'buttons', links: [...add, ...all], posts: [] }];
  }
  return { name, label, needs: path, parts: ownRecords };
}

export const organizationTabs: readonly TabSpec[] = [
  ownTab('members', terms.members, organizationMembershipsPresentation),
  ownTab('invitations', 'Invitations', organizationInvitationsPresentation),
  ownTab('domains', 'Domains', organizationDomainsPresentation),
  ownTab('connections', terms.connections, connectionsPresentation),
  ownTab('directory', 'Directory', directoriesPresentation, true),
  ownTab('groups', 'Groups', organizationGroupsPresentation),
  ownTab('setup', setupLinksPresentation.title, setupLinksPresentation),
  activityTabOf('organizations', 'Changes of this organization appear here.'),
];
