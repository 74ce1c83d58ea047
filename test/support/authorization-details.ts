import { insertDetailType, type AuthorizationDetailTypeRow } from '../../src/db/tables/authorization_detail_types.js';
import type { Context } from '../../src/domain/context.js';
import type { DetailField } from '../../src/lib/authorization-details.js';
import { uuidv7 } from '../../src/lib/random.js';

export const paymentFields: DetailField[] = [
  { name: 'amount', kind: 'money', required: true, max: 500, currency: 'EUR' },
  { name: 'payee', kind: 'text', required: true, max: 70 },
  { name: 'on', kind: 'date' },
];
export const paymentSentence = { en: 'Pay {amount} to {payee} on {on}', de: '{amount} am {on} an {payee} zahlen' };
export const accounts: DetailField = { name: 'accounts', kind: 'text', list: true, required: true, max: 3 };

/** A type of authorization details at the API resource. */
export async function addType(
  ctx: Context,
  resource: { id: string },
  name: string,
  row: Pick<AuthorizationDetailTypeRow, 'fields' | 'sentence'> & Partial<AuthorizationDetailTypeRow>,
): Promise<AuthorizationDetailTypeRow> {
  const at = ctx.clock.now();
  return insertDetailType(ctx.scope, {
    id: uuidv7(at.getTime()),
    name,
    api_resource_id: resource.id,
    created_at: at,
    updated_at: at,
    ...row,
  });
}
