import { newStamps } from '../../db/records.js';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import {
  deleteDetailType,
  insertDetailType,
  updateDetailType,
  type AuthorizationDetailTypeRow,
} from '../../db/tables/authorization_detail_types.js';
import { currencies, maxTextLength, maxListLength, type DetailField } from '../../lib/authorization-details.js';
import { sentenceProblem } from '../../lib/detail-sentence.js';
import type { Language } from '../../lib/languages/languages.js';
import type { Context } from '../context.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, systemRecord, unfit } from '../refusal.js';

/** What can be set of a type of authorization details; its name at its creation alone. */
export type DetailTypeInput = Partial<Pick<AuthorizationDetailTypeRow, 'name' | 'fields' | 'sentence' | 'remember' | 'status'>>;

const duplicates = {
  authorization_detail_types_name: {
    attribute: 'name',
    detail: 'There is a type of this name already: clients know types by their names alone.',
  },
};

/** What is wrong with a field beside its schema. */
function fieldProblem({ kind, list = false, max = null, currency, choices }: DetailField): string | null {
  if (currency !== undefined && (kind !== 'money' || !currencies.has(currency))) return 'currency is of money, and one of ISO 4217.';
  if (kind === 'money' && !list && max !== null && currency === undefined)
    return 'A max of money has a currency: amounts of two currencies do not compare.';
  if ((kind === 'choice') !== (choices !== undefined)) return 'A choice has choices, and nothing else does.';
  if (max === null) return null;
  if (list) return max > maxListLength ? `A list has at most ${maxListLength} members.` : null;
  if (kind === 'text') return max > maxTextLength ? `A text has at most ${maxTextLength} characters.` : null;
  return kind === 'date' || kind === 'choice' ? 'A date and a choice have no max.' : null;
}

/** Problems of what is to be set. */
export function detailTypeProblems({ fields, sentence }: DetailTypeInput): Problem[] {
  const names = (fields ?? []).map(({ name }) => name);
  const ofFields = (fields ?? []).flatMap((field, index): Problem[] => {
    if (names.indexOf(field.name) !== index)
      return [unfit(['fields', index, 'name'], 'duplicate_value', 'There is a field of this name already.')];
    const found = fieldProblem(field);
    return found === null ? [] : [invalidValue(['fields', index], found)];
  });
  if (ofFields.length > 0 || !fields || !sentence) return ofFields;
  return Object.entries(sentence).flatMap(([language, text]) => {
    const found = sentenceProblem(language as Language, text, fields);
    return found === null ? [] : [invalidValue(['sentence', language], `The sentence can not be taken: ${found}.`)];
  });
}

/** Adds a type to an API resource. @throws {Refusal} 403, 409 */
export async function createDetailType(tx: Context, input: DetailTypeInput, resource: ApiResourceRow): Promise<AuthorizationDetailTypeRow> {
  if (resource.is_system) throw systemRecord('The Management API takes no authorization details.');
  const row = { ...input, api_resource_id: resource.id, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertDetailType(tx.scope, row));
}

/** @throws {Refusal} 404 */
export async function changeDetailType(
  tx: Context,
  { id }: Pick<AuthorizationDetailTypeRow, 'id'>,
  input: DetailTypeInput,
): Promise<AuthorizationDetailTypeRow> {
  const changed = await updateDetailType(tx.scope, id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such type.' });
  return changed;
}

/** Nobody asks for its details any more, and those that were allowed are worth nothing, also when there is another one of the name. */
export async function removeDetailType(tx: Context, { id }: Pick<AuthorizationDetailTypeRow, 'id'>): Promise<void> {
  await deleteDetailType(tx.scope, id);
}
