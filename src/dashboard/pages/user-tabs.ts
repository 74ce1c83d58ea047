import { roleChoices } from '../choices.js';
import { linkForm } from '../linked-records.js';
import type { Part, TablePart } from '../page-parts.js';
import { recordPath, type ViewContext, type Presentation, type TabSpec } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { listOf, may, relatedOf } from '../resource-objects.js';
import { auditColumns, audit_logs } from './audit-logs.js';
import { readableIncludes } from '../resource-record.js';
import { authenticatorsTab } from './authenticators-tab.js';
import { sessions } from './sessions.js';
import { consents, identities } from './user-links.js';
import { json, text } from '../values.js';

const most = 50;

type Plain = Pick<TablePart, 'id' | 'caption' | 'columns' | 'rows'> & { readonly nothing: [title: string, text: string] };

const plain = ({ nothing, ...part }: Plain): TablePart => ({
  ...part,
  kind: 'table',
  heading: false,
  empty: { title: nothing[0], text: nothing[1], button: null },
  pager: null,
});

async function rolesTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  const { records } = await relatedOf(call, 'users', record.id, 'roles', { size: 100, sort: 'name' });
  const held = records.map((role) => role.id);
  if (!may(call, 'users', 'write') || !may(call, 'roles', 'write')) {
    const rows = records.map((role) => ({
      path: recordPath('roles', role.id),
      cells: [text(role.attributes['name']), text(role.attributes['description'])],
    }));
    return [
      plain({
        id: 'roles',
        caption: 'Roles',
        columns: [{ label: 'Role' }, { label: 'Description' }],
        rows,
        nothing: ['No roles', 'This user holds none.'],
      }),
    ];
  }
  return [
    await linkForm(look, 'users', record, {
      name: 'roles',
      label: 'Roles',
      hint: 'You can only give roles whose Management permissions you hold yourself.',
      button: 'Save roles',
      chosen: held,
      choices: await roleChoices(look),
    }),
  ];
}

async function sessionsTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(look.req.call, 'users', record.id, 'sessions', { size: most });
  const columns = sessions.columns.filter(({ label }) => label !== 'User');
  const writable = may(look.req.call, 'sessions', 'write');
  const rows = listing.records.map((one) => ({
    path: recordPath('sessions', one.id),
    cells: columns.map((column) => column.value(one, look, listing)),
  }));
  const table = plain({
    id: 'sessions',
    caption: 'Sessions',
    columns: columns.map(({ label }) => ({ label })),
    rows,
    nothing: ['No sessions', 'This user has not signed in within the last weeks.'],
  });
  const active = listing.records.some((one) => one.attributes['status'] === 'active');
  const path = `${recordPath('users', record.id)}/end_sessions`;
  const end = { label: 'End all sessions', path, variant: 'danger' as const, dialog: true };
  return [table, ...(writable && active ? [{ kind: 'buttons' as const, links: [end], posts: [] }] : [])];
}

/** What belongs to the user, as its own list shows it. */
const linkedTab =
  (presentation: Presentation, nothing: [title: string, text: string]) =>
  async ({ req, now }: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
    const include = readableIncludes(req, { path: presentation.path, recordInclude: presentation.include });
    const listing = await relatedOf(req.call, 'users', record.id, presentation.path, { size: most, include });
    const columns = presentation.columns.filter(({ label }) => label !== 'User');
    const rows = listing.records.map((one) => ({
      path: recordPath(presentation.path, one.id),
      cells: columns.map((column) => column.value(one, { req, now }, listing)),
    }));
    const shown = columns.map(({ label }) => ({ label }));
    return [plain({ id: presentation.path, caption: presentation.title, columns: shown, rows, nothing })];
  };

async function activityTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  const [done, suffered] = await Promise.all([
    listOf(call, 'audit_logs', { filters: { actor: record.id }, size: 20 }),
    listOf(call, 'audit_logs', { filters: { target: record.id }, size: 20 }),
  ]);
  const table = (id: string, caption: string, listing: typeof done, nothing: [string, string]): Part => {
    const rows = listing.records.map((one) => ({
      path: recordPath(audit_logs.path, one.id),
      cells: auditColumns.map((column) => column.value(one, look, listing)),
    }));
    return { ...plain({ id, caption, columns: auditColumns.map(({ label }) => ({ label })), rows, nothing }), heading: true };
  };
  return [
    table('done-to', 'Done to this account', suffered, [
      'Nothing yet',
      'Changes by administrators, refused sign-ins and recoveries show here.',
    ]),
    table('done-by', 'Done by this user', done, [
      'Nothing yet',
      'Sign-ins, consents, and what this user does in the dashboard or through the Management API show here.',
    ]),
  ];
}

const rawTab = async (_look: ViewContext, record: ResourceObject): Promise<readonly Part[]> => [
  { kind: 'summary', title: 'As the Management API shows it', rows: [{ label: `GET /api/users/${record.id}`, value: json(record) }] },
];

/** The tabs of a user. */
export const userTabs: readonly TabSpec[] = [
  { name: 'roles', label: 'Roles', needs: 'roles', parts: rolesTab },
  { name: 'sessions', label: 'Sessions', needs: 'sessions', parts: sessionsTab },
  { name: 'authenticators', label: 'Sign-in methods', needs: 'authenticators', parts: authenticatorsTab },
  {
    name: 'identities',
    label: 'Connected accounts',
    parts: linkedTab(identities, ['No connected accounts', 'The user signs in with a password only.']),
  },
  {
    name: 'consents',
    label: 'Consents',
    parts: linkedTab(consents, ['No consents', 'The user has let no application in that asks first.']),
  },
  { name: 'activity', label: 'Activity', needs: 'audit_logs', parts: activityTab },
  { name: 'json', label: 'JSON', parts: rawTab },
];
