import { findApiResourceByIdentifier } from '../../db/tables/api_resources.js';
import type { Context } from '../context.js';
import { invalidValue, Refusal } from '../refusal.js';

/** A client's `default_resource` is the identifier of an API resource; null and undefined pass. @throws {Refusal} 422 */
export async function requireDefaultResource(tx: Context, identifier: string | null | undefined): Promise<void> {
  if (identifier === null || identifier === undefined) return;
  if (await findApiResourceByIdentifier(tx.scope, identifier)) return;
  const detail = 'There is no API resource with this identifier: register it first, or give null.';
  throw new Refusal(invalidValue('default_resource', detail));
}
