import { connectionChoices } from '../choices.js';
import { linkForm } from '../linked-records.js';
import type { Part } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { may, relatedOf } from '../resource-objects.js';
import { code, quiet, text, time, words } from '../values.js';
import { methodLabels, provesBySecret, secretValue } from './client-kinds.js';
import { sentences, terms } from '../words.js';

type Key = Readonly<Record<string, unknown>>;

function keysTable(keys: readonly Key[]): Part {
  const columns = [terms.key_id, terms.type, terms.algorithm, terms.use].map((label) => ({ label }));
  const rows = keys.map((key) => ({ path: null, cells: [code(key['kid']), text(key['kty']), text(key['alg']), text(key['use'])] }));
  const empty = { title: terms.no_keys, text: sentences.this_client_has_no_public, button: null };
  return { kind: 'table', id: 'keys', caption: terms.public_keys, heading: true, columns, rows, empty, pager: null };
}

/** What the client proves itself with: its secret, as far as anybody may see it, and its public keys. */
export async function credentialsTab({ req, now }: ViewContext, { id, attributes: a }: ResourceObject): Promise<readonly Part[]> {
  const keys = (a['jwks'] as { keys?: Key[] } | null)?.keys ?? [];
  const secret = provesBySecret(a);
  const rows = [
    { label: terms.client_id, value: code(id, true) },
    { label: terms.authentication_method, value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
    { label: terms.secret, value: secret ? secretValue(a) : quiet(terms.none) },
    ...(secret ? [{ label: terms.created, value: time(a['secret_rotated_at'] ?? a['created_at'], now) }] : []),
    {
      label: terms.previous_secret,
      value: words(a['previous_secret_expires_at']) > now.toISOString() ? text(terms.active) : quiet(terms.none),
    },
    ...(words(a['previous_secret_expires_at']) > now.toISOString()
      ? [{ label: terms.previous_secret_expires, value: time(a['previous_secret_expires_at'], now) }]
      : []),
    { label: terms.jwks_uri, value: code(a['jwks_uri'], true) },
    { label: terms.last_used, value: time(a['last_used_at'], now) },
  ];
  const links =
    secret && may(req.call, 'clients', 'write') ? [{ label: terms.rotate_secret, path: `${recordPath('clients', id)}/rotate_secret` }] : [];
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
  const all = sentences.nothing_chosen_every_enabled_connection;
  if (!may(call, 'clients', 'write')) {
    const columns = [terms.connection, terms.status].map((label) => ({ label }));
    const rows = records.map((one) => ({
      path: recordPath('connections', one.id),
      cells: [text(one.attributes['display_name']), text(one.attributes['status'] === 'enabled' ? terms.enabled : terms.disabled)],
    }));
    const empty = { title: terms.all_connections, text: all, button: null };
    return [{ kind: 'table', id: 'connections', caption: terms.connections, heading: false, columns, rows, empty, pager: null }];
  }
  const choices = await connectionChoices(look);
  if (choices.length === 0) return [{ kind: 'text', title: terms.no_connections, paragraphs: [sentences.there_is_no_connection_that] }];
  return [
    await linkForm(look, 'clients', record, {
      name: 'connections',
      label: terms.connections_offered_at_sign_in,
      hint: all,
      button: terms.save_connections,
      chosen: records.map(({ id }) => id),
      choices,
    }),
  ];
}
