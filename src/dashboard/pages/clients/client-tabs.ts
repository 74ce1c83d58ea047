import { connectionChoices } from '../../parts/forms/choices.js';
import { linkForm } from '../../parts/forms/linked-records.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { may, relatedOf } from '../../parts/records/objects.js';
import { code, quiet, text, time, words } from '../../parts/values.js';
import { methodLabels, provesBySecret, secretValue } from './client-kinds.js';
import { terms } from '../../parts/words.js';

type Key = Readonly<Record<string, unknown>>;

function keysTable(keys: readonly Key[]): Part {
  const columns = [terms.key_id, terms.type, terms.algorithm, 'Use'];
  const rows = keys.map((key) => ({ cells: [code(key['kid']), text(key['kty']), text(key['alg']), text(key['use'])] }));
  return pageTable({ id: 'keys', caption: 'Public keys', columns, rows, nothing: [terms.no_keys, 'This client has no public keys.'] });
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
      label: 'Previous secret',
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
export async function connectionsTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  const all = 'If none is selected, every enabled connection is offered.';
  if (!may(call, 'clients', 'write')) {
    const { records } = await relatedOf(call, 'clients', record.id, 'connections', { size: 100, sort: 'name' });
    const columns = [terms.connection, terms.status];
    const rows = records.map((one) => ({
      path: recordPath('connections', one.id),
      cells: [text(one.attributes['display_name']), text(one.attributes['status'] === 'enabled' ? terms.enabled : terms.disabled)],
    }));
    const nothing = ['All connections', all] as const;
    return [pageTable({ id: 'connections', caption: terms.connections, heading: false, columns, rows, nothing })];
  }
  const choices = await connectionChoices(view);
  if (choices.length === 0) return [{ kind: 'text', title: 'No connections', paragraphs: ['There are no connections to offer.'] }];
  return [
    await linkForm(view, 'clients', record, {
      name: 'connections',
      label: 'Connections offered at sign-in',
      hint: all,
      button: 'Save connections',
      choices,
    }),
  ];
}
