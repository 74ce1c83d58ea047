import { findSecondStepTries } from '../../../db/tables/second_step_tries.js';
import { findUser } from '../../../db/tables/users.js';
import { timeWords } from '../../../lib/date-words.js';
import type { ResourceObject } from '../../../management/documents.js';
import { timeline } from '../../parts/activity/timeline.js';
import type { Part, Row, Value } from '../../parts/page-parts.js';
import { includedRecord, listOf, may, relatedId, relatedOf } from '../../parts/records/objects.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { link, quiet, stack, state, tags, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { kindLabel, kindsOf } from './authenticators.js';

const most = 20;

/** Whether the person can sign in, and until when not. */
async function statusOf({ req: { call }, now }: ViewContext, { id, attributes }: ResourceObject): Promise<Value> {
  if (attributes['status'] === 'blocked') return state('bad', 'Blocked');
  const { scope } = call.ctx;
  const locks = [
    ['Locked', (await findUser(scope, id))?.locked_until],
    ['Second factor locked', (await findSecondStepTries(scope, id))?.locked_until],
  ] as const;
  const held = locks.flatMap(([what, until]) =>
    until && until > now ? [state('bad', `${what} until ${timeWords(until.toISOString())}`)] : [],
  );
  return held.length === 0 ? state('good', terms.active) : stack(...held);
}

async function methodsOf({ req: { call } }: ViewContext, { id, attributes: a }: ResourceObject): Promise<Value> {
  const include = may(call, 'connections', 'read') ? 'connection' : undefined;
  const { records, included } = await relatedOf(call, 'users', id, 'identities', { size: most, include });
  const providers = records.map((one) =>
    words(includedRecord(one, 'connection', included)?.attributes['display_name'] ?? terms.connected_account),
  );
  const methods = [...(a['has_password'] === true ? [terms.password] : []), ...kindsOf(a).map(kindLabel), ...providers];
  return methods.length === 0 ? quiet(terms.none) : tags(methods, most);
}

async function sessionsOf({ req: { call } }: ViewContext, id: string): Promise<Value> {
  const { records, next } = await relatedOf(call, 'users', id, 'sessions', { filters: { status: 'active' }, size: most });
  if (records.length === 0) return quiet(terms.none);
  return link(`${records.length}${next === null ? '' : '+'} active`, `${recordPath('users', id)}/sessions`);
}

const namesOrNone = (names: readonly string[]): Value => (names.length === 0 ? quiet(terms.none) : tags(names, most));

async function rolesOf({ req: { call } }: ViewContext, id: string): Promise<Value> {
  const { records } = await relatedOf(call, 'users', id, 'roles', { size: most, sort: 'name' });
  return namesOrNone(records.map(({ attributes }) => words(attributes['name'])));
}

/** The applications that the person allowed something; the name is the client's where the viewer may read it. */
async function applicationsOf({ req: { call } }: ViewContext, id: string): Promise<Value> {
  const include = may(call, 'clients', 'read') ? 'client' : undefined;
  const { records, included } = await relatedOf(call, 'users', id, 'consents', { size: most, include });
  return namesOrNone(
    records.map((one) => words(includedRecord(one, 'client', included)?.attributes['name'] ?? relatedId(one, 'client') ?? terms.client)),
  );
}

async function organizationsOf({ req: { call } }: ViewContext, id: string): Promise<Value> {
  const include = may(call, 'organizations', 'read') ? 'organization' : undefined;
  const { records, included } = await listOf(call, 'organization_memberships', { filters: { user: id }, size: most, include });
  return namesOrNone(
    records.map((one) => words(includedRecord(one, 'organization', included)?.attributes['name'] ?? relatedId(one, 'organization'))),
  );
}

/** What the person has now, as far as the viewer may read it, beside everything that happened, as one list. */
export async function activityTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  const readable = async (path: string, label: string, value: (view: ViewContext, id: string) => Promise<Value>): Promise<Row[]> =>
    may(call, path, 'read') ? [{ label, value: await value(view, record.id) }] : [];
  const rows: readonly Row[] = [
    { label: terms.status, value: await statusOf(view, record) },
    { label: terms.sign_in_methods, value: await methodsOf(view, record) },
    ...(await readable('roles', terms.roles, rolesOf)),
    ...(await readable('consents', 'Applications with consent', applicationsOf)),
    ...(await readable('organization_memberships', terms.organizations, organizationsOf)),
    ...(await readable('sessions', terms.sessions, sessionsOf)),
    {
      label: terms.last_sign_in,
      value: record.attributes['last_login_at'] === null ? quiet('Never') : time(record.attributes['last_login_at'], view.now),
    },
  ];
  const path = `${recordPath('users', record.id)}/activity`;
  const nothingYet = 'Sign-ins, refusals and changes of this person appear here.';
  const now: Part = { kind: 'summary', title: 'Now', rows };
  return [{ kind: 'beside', aside: [now], parts: await timeline(view, record.id, path, nothingYet) }];
}
