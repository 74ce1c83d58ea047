import { listConsentsOfUser } from '../../db/tables/consents.js';
import { listIdentitiesOfUser } from '../../db/tables/identities.js';
import { roleChoices } from '../choices.js';
import type { Part, TablePart } from '../page-parts.js';
import { placeOf, type Look, type TabSpec } from '../presentation.js';
import { listOf, may, recordOf, relatedOf, versionOf, type Shown } from '../records.js';
import { auditColumns, audit_logs } from './audit-logs.js';
import { sessions } from './sessions.js';
import { json, link, tags, text, time, words } from '../values.js';

const most = 50;

type Plain = Pick<TablePart, 'id' | 'caption' | 'columns' | 'rows'> & { readonly nothing: [title: string, text: string] };

const plain = ({ nothing, ...part }: Plain): TablePart => ({
  ...part,
  kind: 'table',
  heading: false,
  empty: { title: nothing[0], text: nothing[1], button: null },
  pager: null,
});

async function rolesTab(look: Look, record: Shown): Promise<readonly Part[]> {
  const { call } = look.req;
  const { records } = await relatedOf(call, 'users', record.id, 'roles', { size: 100, sort: 'name' });
  const held = records.map((role) => role.id);
  if (!may(call, 'users', 'write') || !may(call, 'roles', 'write')) {
    const rows = records.map((role) => ({
      path: placeOf('roles', role.id),
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
  const field = {
    kind: 'checks' as const,
    name: 'roles',
    label: 'Roles',
    hint: 'You can only give roles whose Management permissions you hold yourself.',
    optional: true,
    value: '',
    chosen: held,
    choices: await roleChoices(look),
    error: null,
    attributes: {},
  };
  const { record: fresh } = await recordOf(call, 'users', record.id);
  const hidden = { _version: words(versionOf(fresh)) };
  const action = `${placeOf('users', record.id)}/roles`;
  return [
    {
      kind: 'form',
      id: 'roles-form',
      action,
      hidden,
      sections: [{ title: null, text: null, fields: [field] }],
      button: { label: 'Save roles', variant: 'primary' },
      cancel: null,
    },
  ];
}

async function sessionsTab(look: Look, record: Shown): Promise<readonly Part[]> {
  const listing = await relatedOf(look.req.call, 'users', record.id, 'sessions', { size: most });
  const columns = sessions.columns.filter(({ label }) => label !== 'User');
  const writable = may(look.req.call, 'sessions', 'write');
  const rows = listing.records.map((one) => ({
    path: placeOf('sessions', one.id),
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
  const end = { label: 'End all sessions', action: `${placeOf('users', record.id)}/end_sessions`, variant: 'danger' as const };
  return [table, ...(writable && active ? [{ kind: 'buttons' as const, links: [], posts: [end] }] : [])];
}

async function identitiesTab(look: Look, record: Shown): Promise<readonly Part[]> {
  const found = await listIdentitiesOfUser(look.req.call.ctx.scope, record.id);
  const readable = may(look.req.call, 'connections', 'read');
  const rows = found.map((one) => ({
    path: null,
    cells: [
      readable ? link(one.connection_display_name, placeOf('connections', one.connection_id)) : text(one.connection_display_name),
      text(one.email),
      text(one.subject),
      time(one.last_login_at?.toISOString(), look.now),
      time(one.created_at.toISOString(), look.now),
    ],
  }));
  const columns = ['Connection', 'Email there', 'Subject', 'Last used', 'Connected'].map((label) => ({ label }));
  return [
    plain({
      id: 'identities',
      caption: 'Connected accounts',
      columns,
      rows,
      nothing: ['No connected accounts', 'The user signs in with a password only.'],
    }),
  ];
}

async function consentsTab(look: Look, record: Shown): Promise<readonly Part[]> {
  const found = await listConsentsOfUser(look.req.call.ctx.scope, record.id);
  const readable = may(look.req.call, 'clients', 'read');
  const rows = found.map((one) => ({
    path: null,
    cells: [
      readable ? link(one.client_name, placeOf('clients', one.client_id)) : text(one.client_name),
      tags(one.scopes),
      time(one.granted_at.toISOString(), look.now),
    ],
  }));
  const columns = ['Client', 'Scopes', 'Allowed'].map((label) => ({ label }));
  return [
    plain({
      id: 'consents',
      caption: 'Consents',
      columns,
      rows,
      nothing: ['No consents', 'The user has let no application in that asks first.'],
    }),
  ];
}

async function activityTab(look: Look, record: Shown): Promise<readonly Part[]> {
  const { call } = look.req;
  const [done, suffered] = await Promise.all([
    listOf(call, 'audit_logs', { filters: { actor: record.id }, size: 20 }),
    listOf(call, 'audit_logs', { filters: { target: record.id }, size: 20 }),
  ]);
  const table = (id: string, caption: string, listing: typeof done, nothing: [string, string]): Part => {
    const rows = listing.records.map((one) => ({
      path: placeOf(audit_logs.path, one.id),
      cells: auditColumns.map((column) => column.value(one, look, listing)),
    }));
    return { ...plain({ id, caption, columns: auditColumns.map(({ label }) => ({ label })), rows, nothing }), heading: true };
  };
  return [
    table('done-to', 'Done to this account', suffered, ['Nothing yet', 'Changes of this account by administrators show here.']),
    table('done-by', 'Done by this user', done, [
      'Nothing yet',
      'What this user does in the dashboard or through the Management API shows here.',
    ]),
  ];
}

const rawTab = async (_look: Look, record: Shown): Promise<readonly Part[]> => [
  { kind: 'summary', title: 'As the Management API shows it', rows: [{ label: `GET /api/users/${record.id}`, value: json(record) }] },
];

/** The tabs of a user. */
export const userTabs: readonly TabSpec[] = [
  { name: 'roles', label: 'Roles', needs: 'roles', parts: rolesTab },
  { name: 'sessions', label: 'Sessions', needs: 'sessions', parts: sessionsTab },
  { name: 'identities', label: 'Connected accounts', parts: identitiesTab },
  { name: 'consents', label: 'Consents', parts: consentsTab },
  { name: 'activity', label: 'Activity', needs: 'audit_logs', parts: activityTab },
  { name: 'json', label: 'JSON', parts: rawTab },
];
