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
import { hints, sentences, terms } from '../words.js';

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
        caption: terms.roles,
        columns: [{ label: terms.role }, { label: terms.description }],
        rows,
        nothing: [terms.no_roles, sentences.this_user_holds_none],
      }),
    ];
  }
  return [
    await linkForm(look, 'users', record, {
      name: 'roles',
      label: terms.roles,
      hint: hints.roles,
      button: terms.save_roles,
      chosen: held,
      choices: await roleChoices(look),
    }),
  ];
}

async function sessionsTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(look.req.call, 'users', record.id, 'sessions', { size: most });
  const columns = sessions.columns.filter(({ label }) => label !== terms.user);
  const writable = may(look.req.call, 'sessions', 'write');
  const rows = listing.records.map((one) => ({
    path: recordPath('sessions', one.id),
    cells: columns.map((column) => column.value(one, look, listing)),
  }));
  const table = plain({
    id: 'sessions',
    caption: terms.sessions,
    columns: columns.map(({ label }) => ({ label })),
    rows,
    nothing: [terms.no_sessions, sentences.this_user_has_not_signed],
  });
  const active = listing.records.some((one) => one.attributes['status'] === 'active');
  const path = `${recordPath('users', record.id)}/end_sessions`;
  const end = { label: terms.end_all_sessions, path, variant: 'danger' as const, dialog: true };
  return [table, ...(writable && active ? [{ kind: 'buttons' as const, links: [end], posts: [] }] : [])];
}

/** What belongs to the user, as its own list shows it. */
const linkedTab =
  (presentation: Presentation, nothing: [title: string, text: string]) =>
  async ({ req, now }: ViewContext, record: ResourceObject): Promise<readonly Part[]> => {
    const include = readableIncludes(req, { path: presentation.path, recordInclude: presentation.include });
    const listing = await relatedOf(req.call, 'users', record.id, presentation.path, { size: most, include });
    const columns = presentation.columns.filter(({ label }) => label !== terms.user);
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
    table('done-to', terms.actions_on_this_user, suffered, [terms.nothing_yet, sentences.changes_by_administrators_refused_sign]),
    table('done-by', terms.actions_by_this_user, done, [terms.nothing_yet, sentences.sign_ins_consents_and_what]),
  ];
}

const rawTab = async (_look: ViewContext, record: ResourceObject): Promise<readonly Part[]> => [
  { kind: 'summary', title: terms.as_the_management_api_shows_it, rows: [{ label: `GET /api/users/${record.id}`, value: json(record) }] },
];

/** The tabs of a user. */
export const userTabs: readonly TabSpec[] = [
  { name: 'roles', label: terms.roles, needs: 'roles', parts: rolesTab },
  { name: 'sessions', label: terms.sessions, needs: 'sessions', parts: sessionsTab },
  { name: 'authenticators', label: terms.sign_in_methods, needs: 'authenticators', parts: authenticatorsTab },
  {
    name: 'identities',
    label: terms.connected_accounts,
    parts: linkedTab(identities, [terms.no_connected_accounts, sentences.the_user_signs_in_with]),
  },
  {
    name: 'consents',
    label: terms.consents,
    parts: linkedTab(consents, [terms.no_consents, sentences.the_user_has_let_no]),
  },
  { name: 'activity', label: terms.activity, needs: 'audit_logs', parts: activityTab },
  { name: 'json', label: terms.json, parts: rawTab },
];
