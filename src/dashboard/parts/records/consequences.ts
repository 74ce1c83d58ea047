import { countDependents, type Counted, type DependedOn, type DependentOf } from '../../../db/tables/dependents.js';
import { scopeOf } from '../../../db/scope.js';
import { sessionBounds } from '../../../domain/sessions/sessions.js';
import { createFormat } from '../../../lib/languages/messages.js';
import { named, own } from '../../../lib/named.js';
import type { Call } from '../../../management/call.js';
import { memo } from '../../../lib/memo.js';

const fates = {
  deleted: 'Deleted with it',
  ended: 'Ends at once',
  affected: 'Stays, but is affected',
  first: 'Prevents the deletion',
} as const;

type Fate = keyof typeof fates;

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
      approvals: 'deleted',
      authorizations: 'deleted',
      consents: 'deleted',
      provider_tokens: 'deleted',
      roles: 'deleted',
      memberships: 'deleted',
      directory_users: 'deleted',
    },
    block: { sessions: 'ended', refresh_tokens: 'ended', provider_tokens: 'deleted' },
    end_sessions: { sessions: 'ended' },
    forget_devices: { devices: 'ended' },
    reset_authenticators: { authenticators: 'deleted', sessions: 'ended', refresh_tokens: 'ended', devices: 'ended' },
  },
  sessions: { revoke: { session_clients: 'ended' } },
  consents: { delete: { refresh_tokens: 'ended' } },
  roles: { delete: { users: 'first', permissions: 'deleted', outbound_grants: 'deleted' } },
  clients: {
    delete: {
      client_grants: 'deleted',
      approvals: 'deleted',
      authorizations: 'deleted',
      consents: 'deleted',
      federated_credentials: 'deleted',
      outbound_grants: 'deleted',
      provider_grants: 'deleted',
      provider_tokens: 'deleted',
      signal_streams: 'deleted',
      refresh_tokens: 'ended',
    },
    revoke_tokens: { refresh_tokens: 'ended' },
  },
  api_resources: { delete: { permissions: 'deleted', authorization_detail_types: 'deleted', client_grants: 'deleted', roles: 'affected' } },
  permissions: { delete: { roles: 'affected', client_grants: 'affected' } },
  connections: { delete: { identities: 'deleted', provider_grants: 'deleted', provider_tokens: 'deleted', clients: 'affected' } },
  provider_grants: { delete: { provider_tokens: 'deleted' } },
  identities: { delete: { provider_tokens: 'deleted' } },
  organizations: {
    delete: {
      memberships: 'deleted',
      connections: 'deleted',
      domains: 'deleted',
      directories: 'deleted',
      organization_groups: 'deleted',
      invitations: 'deleted',
      setup_links: 'deleted',
      outbound_grants: 'deleted',
    },
  },
  directories: { delete: { organization_groups: 'deleted', directory_users: 'deleted' } },
  trusted_issuers: { delete: { federated_credentials: 'deleted' } },
  external_servers: { delete: { outbound_grants: 'deleted' } },
  webhooks: { delete: { waiting_deliveries: 'deleted', past_deliveries: 'deleted' } },
  log_streams: { delete: { log_stream_entries: 'deleted' } },
  signal_streams: { delete: { signal_sets: 'deleted' } },
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
  api_resources: '{count, plural, one {# API resource} other {# API resources}}',
  approvals: '{count, plural, one {# approval} other {# approvals}}',
  authenticators: '{count, plural, one {# sign-in method} other {# sign-in methods}}',
  authorization_detail_types: '{count, plural, one {# type of authorization details} other {# types of authorization details}}',
  authorizations: '{count, plural, one {# authorization} other {# authorizations}}',
  client_grants: '{count, plural, one {# client grant} other {# client grants}}',
  clients: '{count, plural, one {# client} other {# clients}}',
  consents: '{count, plural, one {# consent} other {# consents}}',
  custom_domains: '{count, plural, one {# custom domain} other {# custom domains}}',
  devices: '{count, plural, one {# remembered device} other {# remembered devices}}',
  federated_credentials: '{count, plural, one {# federated credential} other {# federated credentials}}',
  identities: '{count, plural, one {# connected account} other {# connected accounts}}',
  invitations: '{count, plural, one {# invitation} other {# invitations}}',
  log_stream_entries: '{count, plural, one {# entry that waits to be sent} other {# entries that wait to be sent}}',
  signal_sets: '{count, plural, one {# signal that waits to be sent} other {# signals that wait to be sent}}',
  signal_streams: '{count, plural, one {# signal stream} other {# signal streams}}',
  log_streams: '{count, plural, one {# log stream} other {# log streams}}',
  connections: '{count, plural, one {# connection} other {# connections}}',
  directories: '{count, plural, one {# directory} other {# directories}}',
  directory_users: '{count, plural, one {# person in the directory} other {# people in the directory}}',
  domains: '{count, plural, one {# domain} other {# domains}}',
  memberships: '{count, plural, one {# membership} other {# memberships}}',
  organization_groups: '{count, plural, one {# group} other {# groups}}',
  outbound_grants: '{count, plural, one {# outbound grant} other {# outbound grants}}',
  past_deliveries: '{count, plural, one {# delivery that is over} other {# deliveries that are over}}',
  provider_grants: '{count, plural, one {# provider grant} other {# provider grants}}',
  provider_tokens: '{count, plural, one {# provider token} other {# provider tokens}}',
  permissions: '{count, plural, one {# permission} other {# permissions}}',
  refresh_tokens: '{count, plural, =0 {refresh tokens} one {# refresh token} other {# refresh tokens}}',
  roles: '{count, plural, one {# role} other {# roles}}',
  session_clients: '{count, plural, one {sign-in at # client} other {sign-ins at # clients}}',
  setup_links: '{count, plural, one {# set-up link} other {# set-up links}}',
  sessions: '{count, plural, one {# live session} other {# live sessions}}',
  users: '{count, plural, one {# user} other {# users}}',
  waiting_deliveries: '{count, plural, one {# delivery that waits} other {# deliveries that wait}}',
  webhooks: '{count, plural, one {# webhook} other {# webhooks}}',
  'api_resources/roles': '{count, plural, one {# role with its permissions} other {# roles with its permissions}}',
  'connections/clients': '{count, plural, one {# client that names it} other {# clients that name it}}',
  'permissions/client_grants': '{count, plural, one {# client grant with it} other {# client grants with it}}',
  'permissions/roles': '{count, plural, one {# role with it} other {# roles with it}}',
  'roles/permissions': '{count, plural, one {# permission assignment} other {# permission assignments}}',
  'roles/users': '{count, plural, one {# user who holds it} other {# users who hold it}}',
  'users/directory_users': '{count, plural, one {# entry in a directory} other {# entries in directories}}',
  'users/roles': '{count, plural, one {# role assignment} other {# role assignments}}',
});

const formatOf = memo((text: string) => createFormat('en', text));

function inWords(collection: DependedOn, name: string, { count, more }: Counted): string {
  const text = texts[`${collection}/${name}`] ?? texts[name] ?? name;
  const value = String(formatOf(text).format({ count }));
  if (!more) return value;
  return count === 0 ? `${value}, too many of all clients to count these` : `at least ${value}`;
}

/** What hangs on several records together. */
function sumOf(each: readonly Readonly<Record<string, Counted>>[]): Readonly<Record<string, Counted>> {
  const sum: Record<string, Counted> = named();
  for (const [name, { count, more }] of each.flatMap((one) => Object.entries(one))) {
    const { count: before, more: moreBefore } = sum[name] ?? { count: 0, more: false };
    sum[name] = { count: before + count, more: moreBefore || more };
  }
  return sum;
}

/**
 * What an act takes along with the records, with numbers (specification 9.2.5); empty for acts of which nothing could be counted, and one line where nothing is there.
 * Whoever may do it may know what it does: the numbers ask for no permission of their own.
 * @param verb `delete`, or what the action is called
 */
export async function consequencesOf(
  { ctx }: Call,
  collection: string,
  ids: readonly string[],
  verb: string,
): Promise<readonly Consequence[]> {
  const acts = own(consequences, collection);
  const fatesOf = acts && own(acts as Readonly<Record<string, Readonly<Record<string, Fate>>>>, verb);
  if (!fatesOf) return [];
  const of = collection as DependedOn;
  // What is in an environment is counted from within it.
  const scopeFor = (id: string) => (of === 'environments' ? scopeOf(ctx.scope, id) : ctx.scope);
  const counted = sumOf(await Promise.all(ids.map((id) => countDependents(scopeFor(id), of, id, sessionBounds(ctx)))));
  const lists = Object.entries(fates).map(([fate, title]): Consequence => {
    const names = Object.keys(fatesOf).filter((name) => fatesOf[name] === fate);
    const some = names
      .map((name) => [name, counted[name] ?? { count: 0, more: false }] as const)
      .filter(([, { count, more }]) => count > 0 || more);
    return { title, items: some.map(([name, one]) => inWords(of, name, one)) };
  });
  const filled = lists.filter(({ items }) => items.length > 0);
  return filled.length > 0 ? filled : [{ title: `Nothing else depends on ${ids.length > 1 ? 'them' : 'it'} at the moment.`, items: [] }];
}
