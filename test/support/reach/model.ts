import type { Client } from 'pg';

/**
 * Who could come to hold what, computed from the tables by a model of the test's own: it shares nothing with the service, so that a mistake there
 * shows. Every principal has a reach (names of Management permissions, and
 * `{identifier}#{name}` of other APIs') and a fingerprint of whatever decides who acts with it.
 */
/** `text` is both in one, to be compared. */
export type Principal = { readonly reach: ReadonlySet<string>; readonly control: string; readonly text: string };
export type Model = ReadonlyMap<string, Principal>;

/**
 * Columns that decide nothing about who acts with the record. All others do, those that nobody has thought of yet included: an attribute that
 * is new and harmless is named here, and one that isn't named must be guarded.
 */
const harmlessColumns: Readonly<Record<string, string>> = {
  clients: 'description,last_used_at',
  users:
    'first_name,last_name,middle_name,nickname,preferred_username,profile,picture,website,gender,birthdate,zoneinfo,locale,address,metadata,last_login_at,login_count,deletion_due_at',
  roles: 'description',
  // Whom a connection may link or register by itself, or sign in without our second step, is its reach.
  connections: 'name,display_name,allow_registration,account_linking,required,trusted,second_factor,generation',
  // What opens registration is weighed with the newcomers.
  environments:
    'name,branding,support_email,default_locale,default_access_token_lifetime,id_token_lifetime,registration_enabled,allowed_email_domains,dynamic_registration_enabled,client_registration_policy,self_registered_client_limit,record_token_issued',
  api_resources: 'documentation_url',
  signal_streams: 'next_attempt_at,attempt_count,last_error,last_response_status,last_sent_at,lease_id,leased_until',
  log_streams: 'name,next_attempt_at,attempt_count,failing_since,last_error,last_response_status,last_sent_at,lease_id,leased_until',
  // How deliveries went is written while a walk goes on.
  webhooks:
    'name,description,past_events,last_delivery_at,last_success_at,failed_event_count,failing_since,failed_attempt_count,last_response_status,last_failure_reason',
};
const harmless = (table: string) => `'{version,created_at,updated_at,${harmlessColumns[table]}}'::text[]`;

/** What people write of themselves, and the claim that is its own. */
const selfWritten = `(values ('first_name', 'given_name'), ('last_name', 'family_name'), ('middle_name', 'middle_name'), ('nickname', 'nickname'),
  ('preferred_username', 'preferred_username'), ('profile', 'profile'), ('picture', 'picture'), ('website', 'website'), ('gender', 'gender'),
  ('birthdate', 'birthdate'), ('zoneinfo', 'zoneinfo'), ('locale', 'locale'), ('phone_number', 'phone_number'), ('address', 'address')) as own(source, claim)`;

/**
 * What claim mappings tell of people who are not asked: by which permissions one could read it otherwise; and what they say of people without
 * any administrator's having written it: by which permissions one could make it true.
 */
const told = (row: string) => `(case when exists (select 1 from jsonb_array_elements(${row}.claim_mappings) m where m ? 'value'
    or exists (select 1 from ${selfWritten} where own.source = m ->> 'source' and own.claim <> m ->> 'claim'))
    then array['users:write', 'roles:write'] else '{}' end
  || case when ${row}.claim_mappings @? '$[*].source' then array['users:read'] else '{}' end
  || case when ${row}.claim_mappings @> '[{"source": "roles"}]' then array['roles:read'] else '{}' end
  || case when ${row}.claim_mappings @> '[{"source": "permissions"}]' then array['permissions:read'] else '{}' end)`;

/** The same of a SAML application `c`, by its attributes (claims, each with a name of the application's own) and its NameID. */
const asserted = `(case when exists (select 1 from jsonb_each_text(c.saml_attributes) m, ${selfWritten} where m.value in (own.claim, 'name') and m.value <> m.key)
    then array['users:write', 'roles:write'] else '{}' end
  || case when c.saml_attributes <> '{}' or c.saml_name_id = 'email' then array['users:read'] else '{}' end
  || case when exists (select 1 from jsonb_each_text(c.saml_attributes) m where m.value = 'roles') then array['roles:read'] else '{}' end)`;

/** What a client `c` may do in the name of people with the tokens that it is called with: null when nothing. */
const exchanges = `(select array_agg(concat_ws(' ', g.api_resource_id, g.token_exchange, g.assertions, array_to_string(g.scopes, ','), array_to_string(g.subject_audiences, ','))
    order by g.id) from client_grants g where g.environment_id = c.environment_id and g.client_id = c.id and (g.token_exchange <> 'none' or g.assertions))`;

/** What assertions of people a client `c` may have for servers outside: null when none. */
const outbound = `(select array_agg((to_jsonb(o) - '{version,created_at,updated_at}'::text[])::text order by o.id) from outbound_grants o
    where o.environment_id = c.environment_id and o.client_id = c.id)`;

/** What tokens of people at providers a client `c` may ask for: null when none. */
const provided = `(select array_agg((to_jsonb(p) - '{version,created_at,updated_at}'::text[])::text order by p.id) from provider_grants p
    where p.environment_id = c.environment_id and p.client_id = c.id)`;

/** Whose tokens, signed by which keys, prove a client `c`: null when nobody's do. */
const workloads = `(select array_agg(concat_ws(' ', f.audience, f.claims::text, i.issuer, i.jwks_uri, i.jwks::text, i.status) order by f.id)
    from federated_credentials f join trusted_issuers i on i.environment_id = f.environment_id and i.id = f.trusted_issuer_id
    where f.environment_id = c.environment_id and f.client_id = c.id)`;

const named = `case when a.is_system then p.name else a.identifier || '#' || p.name end`;

/** What people may let a client `c` do at open APIs without being asked again, for they allowed it before. */
const allowed = `coalesce((select array_agg(distinct r.key || '#' || s) from consents k, jsonb_each(k.resource_scopes) r, jsonb_array_elements_text(r.value) s
    where k.environment_id = c.environment_id and k.client_id = c.id and exists (select from api_resources a
      where a.environment_id = k.environment_id and a.identifier = r.key and a.user_access = 'open' and not a.is_system)), '{}')`;

/** What the people may do who are linked to a connection `c`. */
const linked = `coalesce((select array_agg(n) from identities i join person_reach r on r.environment_id = i.environment_id and r.id = i.user_id, unnest(r.names) n
    where i.environment_id = c.environment_id and i.connection_id = c.id and i.generation = c.generation), '{}')`;

const sql = `
with everything as (
  select array_agg(distinct p.name) as names from permissions p
  join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id and a.is_system
), role_reach as (
  select r.environment_id, r.id, coalesce(array_agg(${named}) filter (where p.id is not null), '{}') as names
  from roles r
  left join role_permissions rp on rp.environment_id = r.environment_id and rp.role_id = r.id
  left join permissions p on p.environment_id = rp.environment_id and p.id = rp.permission_id
  left join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
  group by r.environment_id, r.id
), user_reach as (
  select u.environment_id, u.id, coalesce(array_agg(n) filter (where n is not null), '{}') as names
  from users u
  left join user_roles ur on ur.environment_id = u.environment_id and ur.user_id = u.id
  left join role_reach rr on rr.environment_id = ur.environment_id and rr.id = ur.role_id
  left join lateral unnest(rr.names) n on true
  group by u.environment_id, u.id
), person_reach as (
  select u.environment_id, u.id, coalesce(array_agg(n) filter (where n is not null), '{}') as names
  from users u
  left join lateral (
    select ur.role_id from user_roles ur where ur.environment_id = u.environment_id and ur.user_id = u.id
    union select g.role_id from organization_memberships m, member_roles(m.environment_id, m.organization_id, m.user_id) g
      where m.environment_id = u.environment_id and m.user_id = u.id
  ) held on true
  left join role_reach rr on rr.environment_id = u.environment_id and rr.id = held.role_id
  left join lateral unnest(rr.names) n on true
  group by u.environment_id, u.id
), organization_reach as (
  select o.environment_id, o.id, coalesce(array_agg(n) filter (where n is not null), '{}') as names
  from organizations o
  left join lateral (
    select d.role_id from organization_default_roles d where d.environment_id = o.environment_id and d.organization_id = o.id
    union select r.role_id from organization_memberships m join organization_membership_roles r on r.environment_id = m.environment_id and r.membership_id = m.id
      where m.environment_id = o.environment_id and m.organization_id = o.id
    union select r.role_id from organization_groups g join organization_group_roles r on r.environment_id = g.environment_id and r.group_id = g.id
      where g.environment_id = o.environment_id and g.organization_id = o.id
  ) given on true
  left join role_reach rr on rr.environment_id = o.environment_id and rr.id = given.role_id
  left join lateral unnest(rr.names) n on true
  group by o.environment_id, o.id
), newcomers as (
  select e.id as environment_id, coalesce(array_agg(n) filter (where n is not null), '{}') as names
  from environments e
  left join roles r on r.environment_id = e.id and r.is_default
  left join role_reach rr on rr.environment_id = r.environment_id and rr.id = r.id
  left join lateral unnest(rr.names) n on true
  group by e.id
), told as (
  select w.environment_id, w.id, t as event_type from webhooks w, unnest(w.events) t
  union select d.environment_id, d.webhook_id, d.event_type from webhook_deliveries d
    join webhooks w on w.environment_id = d.environment_id and w.id = d.webhook_id where d.event_type <> 'webhook.test'
), event_reach as (
  select t.event_type, case
    when t.event_type = '*' then (select array_agg(n) from everything, unnest(names) n where n like '%:read')
    when t.event_type like 'token.%' then array['sessions:read', 'clients:read']
    when t.event_type in ('user.created', 'user.registered', 'user.updated') then array['users:read', 'roles:read']
    when t.event_type like 'role.%' then array['roles:read', 'permissions:read']
    else array[split_part(t.event_type, '.', 1) || 's:read'] end as names
  from (select distinct event_type from told union select distinct event_type from webhook_deliveries) t
)
select 'client ' || c.environment_id || ' ' || c.id as principal,
  case when c.first_party then (select names from everything)
    else coalesce((select array_agg(${named}) from client_grants g join api_resources a on a.environment_id = g.environment_id and a.id = g.api_resource_id,
      unnest(g.scopes) p(name) where g.environment_id = c.environment_id and g.client_id = c.id), '{}') || ${told('c')} || ${asserted}
      || case when c.signal_audience <> 'own' then array['users:read'] else '{}' end
      || case when ${exchanges} is not null or ${outbound} is not null or ${provided} is not null then array['users:write'] else '{}' end end as reach,
  jsonb_build_array(to_jsonb(c) - ${harmless('clients')}, (select array_agg(l.connection_id order by l.connection_id) from client_connections l
      where l.environment_id = c.environment_id and l.client_id = c.id), ${exchanges}, ${workloads}) as control
from clients c
union all
select 'allowed ' || c.environment_id || ' ' || c.id, ${allowed}, jsonb_build_array(to_jsonb(c) - ${harmless('clients')}, ${workloads},
    (select array_agg(l.connection_id order by l.connection_id) from client_connections l
      where l.environment_id = c.environment_id and l.client_id = c.id))
from clients c where not c.first_party
union all
select 'user ' || u.environment_id || ' ' || u.id, r.names, jsonb_build_array(to_jsonb(u) - ${harmless('users')},
  (select array_agg(i.id order by i.id) from identities i where i.environment_id = u.environment_id and i.user_id = u.id),
  (select array_agg(s.id || s.last_activity_at::text order by s.id) from sessions s
    where s.environment_id = u.environment_id and s.user_id = u.id and s.revoked_at is null),
  (select array_agg((to_jsonb(a) - '{name,version,updated_at}'::text[])::text order by a.id) from authenticators a
    where a.environment_id = u.environment_id and a.user_id = u.id),
  (select array_agg(d.id order by d.id) from devices d where d.environment_id = u.environment_id and d.user_id = u.id))
from users u join person_reach r on r.environment_id = u.environment_id and r.id = u.id
union all
-- What an API gives, and is told of people by its access tokens.
select 'api ' || a.environment_id || ' ' || a.id, ${told('a')} || case when a.assertion_access = 'off' then '{}' else array['users:write'] end || coalesce((select array_agg(${named}) from permissions p
    where p.environment_id = a.environment_id and p.api_resource_id = a.id), '{}'), jsonb_build_array(to_jsonb(a) - ${harmless('api_resources')})
from api_resources a where not a.is_system
union all
select 'permission ' || p.environment_id || ' ' || p.id, array[${named}], '[]'
from permissions p join api_resources a on a.environment_id = p.environment_id and a.id = p.api_resource_id
union all
-- What a role gives stays when the others that a user holds go.
select 'holding ' || ur.environment_id || ' ' || ur.user_id || ' ' || ur.role_id, rr.names, '[]'
from user_roles ur join role_reach rr on rr.environment_id = ur.environment_id and rr.id = ur.role_id
union all
select 'consent ' || c.environment_id || ' ' || c.client_id || ' ' || c.user_id, r.names, jsonb_build_array(c.scopes)
from consents c join user_reach r on r.environment_id = c.environment_id and r.id = c.user_id
union all
select 'role ' || r.environment_id || ' ' || r.id, rr.names, jsonb_build_array(to_jsonb(r) - ${harmless('roles')})
from roles r join role_reach rr on rr.environment_id = r.environment_id and rr.id = r.id
union all
select 'newcomers ' || e.id, case when e.registration_enabled then n.names else '{}' end, jsonb_build_array(e.allowed_email_domains)
from environments e join newcomers n on n.environment_id = e.id
union all
select 'connection ' || c.environment_id || ' ' || c.id,
  case when c.organization_id is not null then (select r.names from organization_reach r where r.environment_id = c.environment_id and r.id = c.organization_id)
      || array['users:write'] || ${linked}
    when c.account_linking = 'verified_email' or c.second_factor <> 'own' then (select names from everything)
    else ${linked}
      || case when c.allow_registration then coalesce((select array_agg(name) from newcomers n, unnest(n.names) name
        where n.environment_id = c.environment_id and (c.trusted or name like '%#%')), '{}') else '{}' end end,
  jsonb_build_array(to_jsonb(c) - ${harmless('connections')})
from connections c
union all
-- Whose word makes, names and blocks accounts of the organization's domains.
select 'directory ' || d.environment_id || ' ' || d.id, r.names || array['users:write'], jsonb_build_array(d.status, d.token_digest, d.previous_token_digest)
from directories d join organization_reach r on r.environment_id = d.environment_id and r.id = d.organization_id
union all
-- Who becomes a member, and how members sign in.
select 'organization ' || o.environment_id || ' ' || o.id, r.names, jsonb_build_array(to_jsonb(o) - '{version,created_at,updated_at,metadata}'::text[],
  (select array_agg(d.domain || coalesce(d.connection_id::text, '') order by d.domain) from organization_domains d
    where d.environment_id = o.environment_id and d.organization_id = o.id and d.status = 'verified'))
from organizations o join organization_reach r on r.environment_id = o.environment_id and r.id = o.id
union all
-- Whom its connections and directory speak for, or others in their place.
select 'customer ' || o.environment_id || ' ' || o.id,
  case when exists (select from connections c where c.environment_id = o.environment_id and c.organization_id = o.id)
      or exists (select from directories d where d.environment_id = o.environment_id and d.organization_id = o.id)
    then array['users:write'] || coalesce((select array_agg(l) from connections c, unnest(${linked}) l
      where c.environment_id = o.environment_id and c.organization_id = o.id), '{}') else '{}' end, jsonb_build_array(o.status)
from organizations o
union all
select 'member ' || m.environment_id || ' ' || m.organization_id || ' ' || m.user_id,
  coalesce((select array_agg(n) from member_roles(m.environment_id, m.organization_id, m.user_id) g
    join role_reach rr on rr.environment_id = m.environment_id and rr.id = g.role_id, unnest(rr.names) n), '{}'), jsonb_build_array(m.status)
from organization_memberships m
union all
-- Whoever has a link that works does what the organization's administrators may, and so comes to what counts there.
select 'setup-link ' || s.environment_id || ' ' || s.id,
  case when s.finished_at is not null or s.revoked_at is not null then '{}' else r.names || array['users:write'] || coalesce((select rr.names from roles a
    join role_reach rr on rr.environment_id = a.environment_id and rr.id = a.id
    where a.environment_id = s.environment_id and a.name = 'organization_admin'), '{}') end, jsonb_build_array(s.organization_id, s.sections, s.expires_at)
from setup_links s join organization_reach r on r.environment_id = s.environment_id and r.id = s.organization_id
union all
select 'issuer ' || e.id, x.names, (select jsonb_agg(jsonb_build_array(d.domain, d.is_primary, d.accepts_passkeys, d.issuer_until) order by d.domain)
    from custom_domains d where d.environment_id = e.id and d.status = 'verified')
from environments e, everything x
union all
select 'mailbox ' || e.id, case when e.kind = 'development' then x.names else '{}' end, '[]' from environments e, everything x
union all
select 'sign-in ' || e.id, x.names, jsonb_build_array(to_jsonb(e) - ${harmless('environments')}) from environments e, everything x
union all
select 'signatures ' || e.id, x.names,
  jsonb_build_array((select array_agg(k.kid order by k.kid) from signing_keys k where k.environment_id = e.id and k.status = 'deactivated'))
from environments e, everything x
union all
select 'management ' || a.environment_id, x.names, jsonb_build_array(to_jsonb(a) - ${harmless('api_resources')})
from api_resources a, everything x where a.is_system
union all
select 'webhook ' || w.environment_id || ' ' || w.id,
  coalesce((select array_agg(n) from told t join event_reach er on er.event_type = t.event_type, unnest(er.names) n
    where t.environment_id = w.environment_id and t.id = w.id), '{}'),
  jsonb_build_array(to_jsonb(w) - ${harmless('webhooks')})
from webhooks w
union all
select 'outbound ' || c.environment_id || ' ' || c.id, case when ${outbound} is null then '{}' else array['users:write'] end, jsonb_build_array(${outbound})
from clients c
union all
select 'provided ' || c.environment_id || ' ' || c.id, case when ${provided} is null then '{}' else array['users:write'] end, jsonb_build_array(${provided})
from clients c
union all
select 'external-server ' || s.environment_id || ' ' || s.id, array['users:write'], jsonb_build_array(to_jsonb(s) - '{name,version,created_at,updated_at}'::text[])
from external_servers s
union all
select 'signal-stream ' || s.environment_id || ' ' || s.id, array['users:read'], jsonb_build_array(to_jsonb(s) - ${harmless('signal_streams')})
from signal_streams s
union all
select 'log-stream ' || s.environment_id || ' ' || s.id, (select array_agg(source || ':read') from unnest(s.sources) source),
  jsonb_build_array(to_jsonb(s) - ${harmless('log_streams')})
from log_streams s
union all
select 'sent ' || d.environment_id || ' ' || d.webhook_id || ' ' || d.event_type, er.names, jsonb_build_array(count(*))
from webhook_deliveries d join event_reach er on er.event_type = d.event_type
where d.trigger = 'redelivery' group by d.environment_id, d.webhook_id, d.event_type, er.names`;

/** A principal whose names are taken apart when somebody asks for them: most steps of a walk change nothing. */
function principalOf(names: string, control: string): Principal {
  let reach: ReadonlySet<string> | undefined;
  return {
    text: `${names} ${control}`,
    control,
    get reach() {
      return (reach ??= new Set(names === '' ? [] : names.split(' ')));
    },
  };
}

/** Every principal of every environment as it is now. The connection remembers the plan: a walk asks some thousand times. */
export async function modelOf(client: Client): Promise<Model> {
  const text = `select principal, array_to_string(reach, ' ') as names, control::text as control from (${sql}) principals`;
  const { rows } = await client.query<{ principal: string; names: string; control: string }>({ name: 'model', text });
  return new Map(rows.map(({ principal, names, control }) => [principal, principalOf(names, control)]));
}

const kindOf = (principal: string) => principal.split(' ')[0] ?? '';
/** Taking something from these is as much as taking them over; a link that is void gives nothing to anybody. */
const takenMatters = new Set(['client', 'user', 'role']);
const removalMatters = new Set([
  ...takenMatters,
  'holding',
  'consent',
  'connection',
  'issuer',
  'mailbox',
  'sign-in',
  'signatures',
  'management',
  'api',
  'permission',
  'webhook',
  'log-stream',
  'external-server',
]);
/** What is new of these is nobody's until somebody gives it. */
const newIsNobodys = new Set(['api', 'permission']);

/** What one who holds no more than `held` may not have brought about, in words; empty when all is well. */
export function escalations(before: Model, after: Model, held: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const holds = (name: string) => held.has(name) || (name.includes('#') && held.has('credentials:write'));
  const lacking = (names: Iterable<string>) => [...new Set(names)].filter((name) => !holds(name)).sort();
  const note = (what: string, principal: string, names: readonly string[]) => {
    if (names.length > 0) found.push(`${what} of ${principal}: ${names.slice(0, 4).join(' ')}${names.length > 4 ? ' ...' : ''}`);
  };
  for (const [principal, now] of after) {
    const was = before.get(principal);
    const grew = [...now.reach].filter((name) => !was?.reach.has(name));
    note('reach grew', principal, lacking(newIsNobodys.has(kindOf(principal)) ? grew.filter((name) => !name.includes('#')) : grew));
    if (was && takenMatters.has(kindOf(principal)))
      note('reach was taken', principal, lacking([...was.reach].filter((name) => !now.reach.has(name))));
    if ((was || kindOf(principal) === 'sent') && was?.control !== now.control)
      note('control moved', principal, lacking([...(was?.reach ?? []), ...now.reach]));
  }
  for (const [principal, was] of before) {
    if (after.has(principal) || !removalMatters.has(kindOf(principal))) continue;
    // A client takes along what people allowed it.
    const [kind, environment, client] = principal.split(' ');
    if (kind === 'consent' && !after.has(`client ${environment} ${client}`)) continue;
    note('removal', principal, lacking(was.reach));
  }
  return found;
}
