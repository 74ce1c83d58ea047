import { findSecondStepTries } from '../../../db/tables/second_step_tries.js';
import { findUser } from '../../../db/tables/users.js';
import { timeWords } from '../../../lib/date-words.js';
import type { ResourceObject } from '../../../management/documents.js';
import { timeline } from '../../parts/activity/timeline.js';
import type { Part, Row, Value } from '../../parts/page-parts.js';
import { includedRecord, may, relatedOf } from '../../parts/records/objects.js';
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

/** What the person has now, then everything that happened, as one list. */
export async function activityTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  const [status, methods, sessions] = await Promise.all([
    statusOf(view, record),
    methodsOf(view, record),
    may(call, 'sessions', 'read') ? sessionsOf(view, record.id) : null,
  ]);
  const rows: Row[] = [
    { label: terms.status, value: status },
    { label: terms.sign_in_methods, value: methods },
    ...(sessions === null ? [] : [{ label: terms.sessions, value: sessions }]),
    { label: terms.last_sign_in, value: time(record.attributes['last_login_at'], view.now) },
  ];
  const path = `${recordPath('users', record.id)}/activity`;
  const nothingYet = 'Sign-ins, refusals and changes of this person appear here.';
  return [{ kind: 'summary', title: 'Now', rows }, ...(await timeline(view, record.id, path, nothingYet))];
}
