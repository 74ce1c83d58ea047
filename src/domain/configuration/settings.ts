import { scopeOf } from '../../db/scope.js';
import { deleteEnvironment, insertEnvironment, updateEnvironment, type EnvironmentRow } from '../../db/tables/environments.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { changeSigningAlgorithms } from '../signing-keys/algorithms.js';
import { addPrimaryKey } from '../signing-keys/operations.js';
import type { NewSigningKey } from '../signing-keys/signing-keys.js';
import { ensureMachineClient, ensureManagementResource } from './bootstrap.js';
import { previousAttributes } from '../changes.js';
import { completeEnvironment } from '../environments/environments.js';
import { refuseRpId, strongSignInDefaults } from '../environments/strong-sign-in.js';
import type { Context } from '../context.js';
import { judgeListedHosts } from '../clients/document-clients.js';
import { environmentData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { Refusal, refuseDuplicates } from '../refusal.js';

/** What can be set on an environment; auth settings are flat members (specification 3.1.2). */
export type EnvironmentInput = Partial<
  Omit<
    EnvironmentRow,
    | 'id'
    | 'is_default'
    | 'pairwise_salt'
    | 'password_hash_mix'
    | 'password_hash_mix_at'
    | 'held_at'
    | 'moved_at'
    | 'version'
    | 'created_at'
    | 'updated_at'
  >
>;

/** What a new environment is administered with; shown once. */
export type ManagementClient = { readonly client_id: string; readonly client_secret: string };

const duplicates = { environments_slug_key: { attribute: 'slug', detail: 'There is an environment with this slug already.' } };

/** Only whoever holds `environments:write` in the default environment operates the service. @throws {Refusal} 403 */
export function refuseUnlessOperator(ctx: Pick<Context, 'environment'>): void {
  if (ctx.environment.is_default) return;
  throw new Refusal({
    status: 403,
    code: 'operators_only',
    detail: 'Environments are created and deleted with a token of the default environment.',
  });
}

/** The context of another environment within the transaction at hand. */
async function inEnvironment(tx: Context, row: EnvironmentRow): Promise<Context> {
  const environment = await completeEnvironment({ ...tx, db: { ...tx.db, knex: tx.scope.knex } }, row);
  return { ...tx, environment, scope: scopeOf(tx.scope, row.id) };
}

/**
 * Makes an environment that can answer at once: its signing keys (`keys`, generated before the transaction), its Management API, its administrator
 * role, and a machine client that holds every Management permission there.
 * @throws {Refusal} 409, 422
 */
export async function createEnvironment(
  tx: Context,
  input: EnvironmentInput,
  keys: readonly NewSigningKey[],
): Promise<{ row: EnvironmentRow; management_client: ManagementClient }> {
  const now = tx.clock.now();
  const times = { created_at: now, updated_at: now };
  tx.scope.touched.add('environments');
  const defaults = input.kind === undefined ? {} : strongSignInDefaults({ kind: input.kind });
  const columns = { ...defaults, ...input, id: uuidv7(now.getTime()), ...times };
  const row = await refuseDuplicates(duplicates, () => insertEnvironment(tx.scope.knex, columns));
  const inner = await inEnvironment(tx, row);
  await refuseRpId(inner, null, input.passkey_rp_id);
  for (const key of keys) await addPrimaryKey(inner, key);
  await ensureManagementResource(inner);
  const management_client = { client_id: uuidv7(now.getTime()), client_secret: randomToken('cs_') };
  await ensureMachineClient(inner, { ...management_client, name: 'Management client' });
  return { row, management_client };
}

/**
 * Changes an environment's settings; emits `environment.updated` there.
 * @param keys for the signing algorithms that are added, generated before the transaction
 * @throws {Refusal} 404, 409, 422
 */
export async function changeEnvironment(
  tx: Context,
  before: EnvironmentRow,
  input: EnvironmentInput,
  keys: readonly NewSigningKey[],
): Promise<EnvironmentRow> {
  const changed = await updateEnvironment(tx.scope, before.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such environment.' });
  const inner = await inEnvironment(tx, changed);
  await refuseRpId(inner, before, input.passkey_rp_id);
  await changeSigningAlgorithms(inner, before.signing_algorithms, changed.signing_algorithms, keys);
  if (input.client_id_metadata_documents !== undefined || input.client_id_metadata_hosts !== undefined)
    await judgeListedHosts(inner, inner.environment);
  const after = environmentData(changed);
  const previous_attributes = previousAttributes(environmentData(before), after);
  if (Object.keys(previous_attributes).length > 0) await emit(inner, 'environment.updated', { ...after, previous_attributes });
  return changed;
}

/** Deletes an environment with everything in it; the default one stays. @throws {Refusal} 403, 409 */
export async function removeEnvironment(tx: Context, row: EnvironmentRow): Promise<void> {
  refuseUnlessOperator(tx);
  if (row.is_default)
    throw new Refusal({ status: 409, code: 'default_environment', detail: 'The default environment can not be deleted.' });
  await deleteEnvironment(tx.scope, row.id);
}
