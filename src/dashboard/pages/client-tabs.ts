import { connectionChoices } from '../choices.js';
import { linkForm } from '../linked-records.js';
import type { Part } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { may, relatedOf } from '../resource-objects.js';
import { code, quiet, text, time, words } from '../values.js';
import { methodLabels } from './client-kinds.js';

type Key = Readonly<Record<string, unknown>>;

function keysTable(keys: readonly Key[]): Part {
  const columns = ['Key id', 'Type', 'Algorithm', 'Use'].map((label) => ({ label }));
  const rows = keys.map((key) => ({ path: null, cells: [code(key['kid']), text(key['kty']), text(key['alg']), text(key['use'])] }));
  const empty = { title: 'No keys', text: 'This client has no public keys.', button: null };
  return { kind: 'table', id: 'keys', caption: 'Public keys', heading: true, columns, rows, empty, pager: null };
}

/** What the client proves itself with: its secret, as far as anybody may see it, and its public keys. */
export async function credentialsTab({ req, now }: ViewContext, { id, attributes: a }: ResourceObject): Promise<readonly Part[]> {
  const keys = (a['jwks'] as { keys?: Key[] } | null)?.keys ?? [];
  const secret = a['secret_hint'] !== null;
  const rows = [
    { label: 'Client id', value: code(id, true) },
    { label: 'Proves itself by', value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
    { label: 'Secret', value: secret ? code(`cs_…${words(a['secret_hint'])}`) : quiet('None') },
    ...(secret ? [{ label: 'Made', value: time(a['secret_rotated_at'] ?? a['created_at'], now) }] : []),
    {
      label: 'Previous secret',
      value: words(a['previous_secret_expires_at']) > now.toISOString() ? text('Still works') : quiet('None that works'),
    },
    ...(words(a['previous_secret_expires_at']) > now.toISOString()
      ? [{ label: 'Previous secret works until', value: time(a['previous_secret_expires_at'], now) }]
      : []),
    { label: 'Address of its public keys', value: code(a['jwks_uri'], true) },
    { label: 'Last used', value: time(a['last_used_at'], now) },
  ];
  const links =
    secret && may(req.call, 'clients', 'write') ? [{ label: 'Make a new secret', path: `${recordPath('clients', id)}/rotate_secret` }] : [];
  return [
    { kind: 'summary', title: null, rows },
    ...(links.length > 0 ? [{ kind: 'buttons' as const, links, posts: [] }] : []),
    ...(keys.length > 0 ? [keysTable(keys)] : []),
  ];
}

/** The connections that the client offers at sign-in: to choose, or only to read. */
export async function connectionsTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  const { records } = await relatedOf(call, 'clients', record.id, 'connections', { size: 100, sort: 'name' });
  const all = 'Nothing chosen: every enabled connection is offered.';
  if (!may(call, 'clients', 'write')) {
    const columns = ['Connection', 'Status'].map((label) => ({ label }));
    const rows = records.map((one) => ({
      path: recordPath('connections', one.id),
      cells: [text(one.attributes['display_name']), text(one.attributes['status'] === 'enabled' ? 'Enabled' : 'Disabled')],
    }));
    const empty = { title: 'All connections', text: all, button: null };
    return [{ kind: 'table', id: 'connections', caption: 'Connections', heading: false, columns, rows, empty, pager: null }];
  }
  const choices = await connectionChoices(look);
  if (choices.length === 0)
    return [{ kind: 'text', title: 'No connections', paragraphs: ['There is no connection that could be offered.'] }];
  return [
    await linkForm(look, 'clients', record, {
      name: 'connections',
      label: 'Connections that it offers at sign-in',
      hint: all,
      button: 'Save connections',
      chosen: records.map(({ id }) => id),
      choices,
    }),
  ];
}
