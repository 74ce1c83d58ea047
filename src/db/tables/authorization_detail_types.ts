import type { DetailField } from '../../lib/authorization-details.js';
import type { DetailSentence } from '../../lib/detail-sentence.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';
import { runSystem } from '../system.js';
import type { Knex } from 'knex';

/** A row of `authorization_detail_types`: what objects of one `type` in `authorization_details` say (RFC 9396 2), and how people are told. */
export type AuthorizationDetailTypeRow = RecordRow & {
  api_resource_id: string;
  /** The `type`; unique in the environment. */
  name: string;
  fields: readonly DetailField[];
  sentence: DetailSentence;
  /** Whether the same detail isn't asked about again once it was allowed. */
  remember: boolean;
  status: 'enabled' | 'disabled';
};

const withJson = ({ fields, sentence, ...row }: Partial<AuthorizationDetailTypeRow>): Partial<AuthorizationDetailTypeRow> => ({
  ...row,
  ...(fields && { fields: JSON.stringify(fields) as never }),
  ...(sentence && { sentence: JSON.stringify(sentence) as never }),
});

export const listDetailTypesOfResource = async (scope: Scope, api_resource_id: string): Promise<AuthorizationDetailTypeRow[]> =>
  (await table<AuthorizationDetailTypeRow>(scope, 'authorization_detail_types')
    .where({ api_resource_id })
    .orderBy('name')) as AuthorizationDetailTypeRow[];

/** Those of the names. */
export const listDetailTypesOfNames = async (scope: Scope, names: readonly string[]): Promise<AuthorizationDetailTypeRow[]> =>
  names.length === 0
    ? []
    : ((await table<AuthorizationDetailTypeRow>(scope, 'authorization_detail_types').whereIn('name', [
        ...names,
      ])) as AuthorizationDetailTypeRow[]);

/** The names of those that may be asked for, of the environment. */
export async function listEnabledDetailTypeNames(knex: Knex, environment_id: string): Promise<string[]> {
  const text = `select name from authorization_detail_types where environment_id = $1 and status = 'enabled' order by name`;
  return (await runSystem<{ name: string }>(knex, { name: 'authorization_detail_types.names', text }, [environment_id])).map(
    ({ name }) => name,
  );
}

export const {
  insert: insertDetailType,
  update: updateDetailType,
  remove: deleteDetailType,
} = rowFunctions<AuthorizationDetailTypeRow>('authorization_detail_types', withJson);
