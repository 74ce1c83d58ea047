import { roleChoices } from '../../parts/forms/choices.js';
import { linkForm } from '../../parts/forms/linked-records.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable, recordsTable } from '../../parts/page-tables.js';
import { withExtras } from '../../parts/lists/extras.js';
import { recordPath, type ViewContext, type Presentation, type TabSpec } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { may, relatedOf } from '../../parts/records/objects.js';
import { readableIncludes } from '../../parts/records/record.js';
import { activityTab } from './activity-tab.js';
import { authenticatorsTab } from './authenticators-tab.js';
import { sessionsPresentation } from './sessions.js';
import { providerTokensPresentation } from './provider-tokens.js';
import { authorizationsPresentation, consentsPresentation, identitiesPresentation } from './user-links.js';
import { json, text } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const most = 50;

async function rolesTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  if (!may(call, 'users', 'write') || !may(call, 'roles', 'write')) {
    const { records } = await relatedOf(call, 'users', record.id, 'roles', { size: 100, sort: 'name' });
    const rows = records.map((role) => ({
      path: recordPath('roles', role.id),
      cells: [text(role.attributes['name']), text(role.attributes['description'])],
    }));
    return [
      pageTable({
        id: 'roles',
        caption: terms.roles,
        heading: false,
        columns: [terms.role, terms.description],
        rows,
        nothing: ['No roles', 'This user holds none.'],
      }),
    ];
  }
  return [
    await linkForm(view, 'users', record, {
      name: 'roles',
      label: terms.roles,
      hint: 'You can only assign roles whose Management permissions you have yourself.',
      button: 'Save roles',
      choices: await roleChoices(view),
    }),
  ];
}

async function sessionsTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(view.req.call, 'users', record.id, 'sessions', { size: most });
  const writable = may(view.req.call, 'sessions', 'write');
  const table = recordsTable(view, sessionsPresentation, listing, {
    id: 'sessions',
    caption: terms.sessions,
    heading: false,
    without: terms.user,
    nothing: ['No sessions', 'This user hasn’t signed in in the last few weeks.'],
  });
  const active = listing.records.some((one) => one.attributes['status'] === 'active');
  const path = `${recordPath('users', record.id)}/end_sessions`;
  const end = { label: terms.end_all_sessions, path, variant: 'danger' as const, dialog: true };
  return [table, ...(writable && active ? [{ kind: 'buttons' as const, links: [end], posts: [] }] : [])];
}

const linkedTab =
  (presentation: Presentation, nothing: [title: string, text: string]) =>
  async (view: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
    const { req } = view;
    const include = readableIncludes(req, presentation.path, presentation.include);
    const found = await relatedOf(req.call, 'users', record.id, presentation.path, { size: most, include });
    const listing = await withExtras(view, presentation, found);
    const { path: id, title: caption } = presentation;
    return [recordsTable(view, presentation, listing, { id, caption, heading: false, without: terms.user, nothing })];
  };

const rawTab = async (_view: ViewContext, record: ResourceObject): Promise<readonly Part[]> => [
  { kind: 'summary', title: 'As the Management API shows it', rows: [{ label: `GET /api/users/${record.id}`, value: json(record) }] },
];

export const userTabs: readonly TabSpec[] = [
  { name: 'roles', label: terms.roles, needs: 'roles', parts: rolesTab },
  { name: 'sessions', label: terms.sessions, needs: 'sessions', parts: sessionsTab },
  { name: 'authenticators', label: terms.sign_in_methods, needs: 'authenticators', parts: authenticatorsTab },
  {
    name: 'identities',
    label: terms.connected_accounts,
    parts: linkedTab(identitiesPresentation, ['No connected accounts', 'The user signs in with a password only.']),
  },
  {
    name: 'provider_tokens',
    label: providerTokensPresentation.title,
    parts: linkedTab(providerTokensPresentation, ['No provider tokens', 'No client has tokens of this user’s connected accounts.']),
  },
  {
    name: 'consents',
    label: terms.consents,
    parts: linkedTab(consentsPresentation, ['No consents', 'This user hasn’t allowed any applications that ask for consent.']),
  },
  {
    name: 'authorizations',
    label: terms.authorizations,
    parts: linkedTab(authorizationsPresentation, ['No authorizations', 'No client has tokens for this user.']),
  },
  { name: 'activity', label: terms.activity, needs: 'audit_logs', parts: activityTab },
  { name: 'json', label: 'JSON', parts: rawTab },
];
