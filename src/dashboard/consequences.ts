import type { IntlMessageFormat } from 'intl-messageformat';
import { countDependents, type Counted, type DependedOn, type DependentOf } from '../db/tables/dependents.js';
import { scopeOf } from '../db/scope.js';
import { sessionBounds } from '../domain/sessions/sessions.js';
import { createFormat } from '../lib/languages/messages.js';
import { named, own } from '../lib/named.js';
import type { Call } from '../management/call.js';
import { counts, fill, sentences, terms } from './words.js';

/** What an act does to what hangs on its record. */
const fates = {
  deleted: terms.deleted_with_it,
  ended: terms.ends_at_once,
  affected: terms.stays_but_changes,
  first: terms.prevents_the_deletion,
} as const;

type Fate = keyof typeof fates;

/** A list of a confirmation page: what becomes of these things, each with its number. */
export type Consequence = { readonly title: string; readonly items: readonly string[] };

type ActsOn<C extends DependedOn> = Readonly<Record<string, { readonly [Name in DependentOf<C>]?: Fate }>>;

/** What each act takes along, by collection and verb. Acts that aren't here take nothing along that could be counted: their sentence says what they do. */
export const consequences: { readonly [C in DependedOn]: ActsOn<C> } = {
  users: {
    delete: {
      sessions: 'deleted',
      refresh_tokens: 'deleted',
      identities: 'deleted',
      authenticators: 'deleted',
      devices: 'deleted',
      consents: 'deleted',
      roles: 'deleted',
    },
    block: { sessions: 'ended', refresh_tokens: 'ended' },
    end_sessions: { sessions: 'ended' },
    forget_devices: { devices: 'ended' },
    reset_authenticators: { authenticators: 'deleted', sessions: 'ended', refresh_tokens: 'ended', devices: 'ended' },
  },
  sessions: { revoke: { session_clients: 'ended' } },
  consents: { delete: { refresh_tokens: 'ended' } },
  roles: { delete: { users: 'first', permissions: 'deleted' } },
  clients: {
    delete: { client_grants: 'deleted', consents: 'deleted', federated_credentials: 'deleted', refresh_tokens: 'ended' },
    revoke_tokens: { refresh_tokens: 'ended' },
  },
  api_resources: { delete: { permissions: 'deleted', client_grants: 'deleted', roles: 'affected' } },
  permissions: { delete: { roles: 'affected', client_grants: 'affected' } },
  connections: { delete: { identities: 'deleted', clients: 'affected' } },
  trusted_issuers: { delete: { federated_credentials: 'deleted' } },
  webhooks: { delete: { waiting_deliveries: 'deleted', past_deliveries: 'deleted' } },
  log_streams: { delete: { log_stream_entries: 'deleted' } },
  environments: {
    delete: {
      users: 'deleted',
      clients: 'deleted',
      connections: 'deleted',
      api_resources: 'deleted',
      roles: 'deleted',
      webhooks: 'deleted',
      log_streams: 'deleted',
      custom_domains: 'deleted',
    },
  },
};

/** Numbers of things in words, as ICU MessageFormat; what is counted by several of its owners may be called otherwise by one of them. */
const texts: Readonly<Record<string, string>> = named({
  api_resources: counts.api_resources,
  authenticators: counts.authenticators,
  client_grants: counts.client_grants,
  clients: counts.clients,
  consents: counts.consents,
  custom_domains: counts.custom_domains,
  devices: counts.devices,
  federated_credentials: counts.federated_credentials,
  identities: counts.identities,
  log_stream_entries: counts.log_stream_entries,
  log_streams: counts.log_streams,
  connections: counts.connections,
  past_deliveries: counts.past_deliveries,
  permissions: counts.permissions,
  refresh_tokens: counts.refresh_tokens,
  roles: counts.roles,
  session_clients: counts.session_clients,
  sessions: counts.sessions,
  users: counts.users,
  waiting_deliveries: counts.waiting_deliveries,
  webhooks: counts.webhooks,
  'api_resources/roles': counts.roles_that_lose_permissions,
  'connections/clients': counts.clients_that_offer_it,
  'permissions/client_grants': counts.client_grants_that_hold_it,
  'permissions/roles': counts.roles_that_hold_it,
  'roles/permissions': counts.permissions_given_by_it,
  'roles/users': counts.users_who_hold_it,
  'users/roles': counts.role_assignments,
});

const formats = new Map<string, IntlMessageFormat>();

function inWords(collection: DependedOn, name: string, { count, more }: Counted): string {
  const text = texts[`${collection}/${name}`] ?? texts[name] ?? name;
  let format = formats.get(text);
  if (!format) formats.set(text, (format = createFormat('en', text)));
  const value = String(format.format({ count }));
  if (!more) return value;
  return fill(count === 0 ? sentences.value_not_counted : sentences.at_least_value, { value });
}

/**
 * What an act takes along with the record, with numbers (specification 9.2.5); empty for acts of which nothing could be counted, and one line where nothing is there.
 * Whoever may do it may know what it does: the numbers ask for no permission of their own.
 * @param verb `delete`, or what the action is called
 */
export async function consequencesOf({ ctx }: Call, collection: string, id: string, verb: string): Promise<readonly Consequence[]> {
  const acts = own(consequences, collection);
  const fatesOf = acts && own(acts as Readonly<Record<string, Readonly<Record<string, Fate>>>>, verb);
  if (!fatesOf) return [];
  const of = collection as DependedOn;
  // What is in an environment is counted from within it.
  const scope = of === 'environments' ? scopeOf(ctx.scope, id) : ctx.scope;
  const counted: Readonly<Record<string, Counted>> = await countDependents(scope, of, id, sessionBounds(ctx));
  const lists = Object.entries(fates).map(([fate, title]): Consequence => {
    const names = Object.keys(fatesOf).filter((name) => fatesOf[name] === fate);
    const some = names.map((name) => [name, counted[name] as Counted] as const).filter(([, { count, more }]) => count > 0 || more);
    return { title, items: some.map(([name, one]) => inWords(of, name, one)) };
  });
  const told = lists.filter(({ items }) => items.length > 0);
  return told.length > 0 ? told : [{ title: sentences.nothing_that_is_counted, items: [] }];
}
