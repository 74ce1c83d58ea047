// Authorization details (RFC 9396) in the dashboard: what people allowed, and what they were asked elsewhere, as the sentences that they read.
import { beforeAll, expect, test } from 'vitest';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { transaction } from '../../src/domain/context.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { updateDetailType } from '../../src/db/tables/authorization_detail_types.js';
import { noOrigin } from '../../src/domain/origin.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { signedInWith } from '../support/administrators.js';
import { approvalPathIn, asking, askOf } from '../support/approvals.js';
import { accounts, addType } from '../support/authorization-details.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const withTypes = ['users:read', 'clients:read', 'authorization_detail_types:read'];
const sentence = 'Read \u2068&lt;i&gt;\u2069';
const detail = { type: 'archive', accounts: ['<i>'] };
const raw = '{&#34;type&#34;:&#34;archive&#34;,&#34;accounts&#34;:[&#34;&lt;i&gt;&#34;]}';
let [bank, by, user, approval, type_id] = [{} as ApiResourceRow, {} as TestClient, {} as UserRow, '', ''];

beforeAll(async () => {
  bank = await addResource(ctx, { identifier: 'https://bank.example' });
  type_id = (await addType(ctx, bank, 'archive', { fields: [accounts], sentence: { en: 'Read {accounts}' }, remember: true })).id;
  by = await addClient(ctx, { ...asking, backchannel_users: 'any', first_party: false, authorization_details_types: ['archive'] });
  user = await addUser(ctx);
  const details = Array.from({ length: 5 }, (_one, index) => ({ type_id, remember: true, detail: index === 0 ? detail : { type: 'archive', accounts: [`N${index}`] } })); // prettier-ignore
  const consent = { user_id: user.id, client_id: by.id, scopes: ['openid'], resource: bank.identifier, details };
  await transaction(ctx, (tx) => giveConsent(tx, consent, noOrigin));
  await askOf(service.url, by, { login_hint: user.email, resource: bank.identifier, authorization_details: JSON.stringify([detail]) });
  approval = (await approvalPathIn(service.url, user)).split('/').at(-1) ?? '';
});

const idIn = async (collection: string): Promise<string> =>
  ((await ctx.db.knex(collection).where({ client_id: by.id }).first()) as { id: string }).id;
/** Lists, tabs and records that tell of them. */
const pages = async () => [
  '/dashboard/consents',
  '/dashboard/authorizations',
  '/dashboard/approvals',
  `/dashboard/users/${user.id}/consents`,
  `/dashboard/users/${user.id}/authorizations`,
  `/dashboard/clients/${by.id}/authorizations`,
  `/dashboard/consents/${await idIn('consents')}`,
  `/dashboard/authorizations/${await idIn('authorizations')}`,
  `/dashboard/approvals/${approval}`,
];
const shown = async (path: string, names: readonly string[]) => {
  const response = await (await signedInWith(service, ...names)).get(path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.text();
};

test('lists, tabs and records say details by the sentences of their types; lists some of many', async () => {
  for (const path of await pages()) {
    const html = await shown(path, withTypes);
    expect([path, html.includes(sentence), html.includes(raw)]).toEqual([path, true, false]);
    if (path.includes('approvals')) continue;
    const isRecord = /consents\/|authorizations\//.test(path);
    expect([path, html.includes('\u2068N4\u2069'), html.includes('and 2 more')]).toEqual([path, isRecord, !isRecord]);
  }
});

test('who may not read types, and where no sentence says a detail any more, sees them as the API has them', async () => {
  const paths = await pages();
  for (const path of paths) {
    const html = await shown(path, ['users:read', 'clients:read']);
    expect([path, html.includes(sentence), html.includes(raw)]).toEqual([path, false, true]);
  }
  await updateDetailType(ctx.scope, type_id, { status: 'disabled' });
  for (const path of paths) expect([path, (await shown(path, withTypes)).includes(raw)]).toEqual([path, true]);
  await updateDetailType(ctx.scope, type_id, { status: 'enabled' });
});
