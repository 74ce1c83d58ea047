import { activityTabOf } from '../../parts/activity/timeline.js';
import type { Part } from '../../parts/page-parts.js';
import { recordPath, type Presentation, type TabSpec, type ViewContext } from '../../parts/records/presentation.js';
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
  const columns = presentation.columns.filter((column) => column.label !== terms.organization);
  async function ownRecords(view: ViewContext, organization: ResourceObject): Promise<readonly Part[]> {
    const { call } = view.req;
    const listing = await listOf(call, path, {
      filters: { organization: organization.id },
      size: most,
      include: readableIncludes(view.req, path, include),
    });
    const rows = listing.records.map((one) => ({
      path: recordPath(path, one.id),
      cells: columns.map((column) => column.value(one, view, listing)),
    }));
    const caption = listing.next === null ? label : `${label} (the first ${most})`;
    const shown = columns.map((column) => ({ label: column.label }));
    const table: Part = {
      kind: 'table',
      id: name,
      caption,
      heading: false,
      columns: shown,
      rows,
      empty: { ...empty, button: null },
      pager: null,
    };
    const query = `?organization=${organization.id}`;
    const all = listing.next === null ? [] : [{ label: 'Show all', path: `/dashboard/${path}${query}`, variant: 'quiet' as const }];
    const add =
      create && may(call, path, 'write') && !(single && rows.length > 0)
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
