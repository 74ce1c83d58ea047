import { Duplicate } from '../../db/connection/failures.js';
import {
  insertSigningKey,
  listPublishedSigningKeys,
  lockSigningKey,
  updateSigningKey,
  type SigningKeyRow,
} from '../../db/tables/signing_keys.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { transaction, type Context } from '../context.js';
import { signingKeyData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { invalidTransition, Refusal } from '../refusal.js';
import { generateSigningKey, type NewSigningKey } from './signing-keys.js';

/**
 * Publishes a new key as the next one of its algorithm; emits `signing_key.generated`.
 * @throws {Refusal} 409 while the algorithm has a next key already
 */
export async function publishNextKey(tx: Context, key: NewSigningKey): Promise<SigningKeyRow> {
  if (await lockSigningKey(tx.scope, 'next', key.algorithm))
    throw invalidTransition(`There is a next ${key.algorithm} key already: activate or deactivate it first.`);
  const now = tx.clock.now();
  try {
    const row = await insertSigningKey(tx.scope, { ...key, status: 'next', created_at: now, updated_at: now });
    await emit(tx, 'signing_key.generated', signingKeyData(row));
    return row;
  } catch (error) {
    if (error instanceof Duplicate && error.constraint === 'signing_keys_next')
      throw invalidTransition(`There is a next ${key.algorithm} key already.`);
    throw error;
  }
}

/** The most keys of one algorithm that are published at once: whoever verifies tokens fetches all of them, and some libraries read no more than 50 KiB. */
const maxPublishedKeys = 10;

/**
 * Refuses to add to a set of keys that is long already, so that nobody rotates until others can't read it. The service's own rotation isn't held to it.
 * @throws {Refusal} 409
 */
export async function requireKeyCapacity(tx: Context, algorithm: SigningAlgorithm): Promise<void> {
  const published = (await listPublishedSigningKeys(tx.scope)).filter((key) => key.algorithm === algorithm);
  if (published.length < maxPublishedKeys) return;
  const detail = `${published.length} ${algorithm} keys are published already: wait until previous ones are retired, or deactivate those that signed nothing that is still good.`;
  throw invalidTransition(detail);
}

/** Makes a key the primary one of its algorithm, which has none; emits `signing_key.generated`. */
export async function addPrimaryKey(tx: Context, key: NewSigningKey): Promise<void> {
  const now = tx.clock.now();
  const row = await insertSigningKey(tx.scope, { ...key, status: 'primary', activated_at: now, created_at: now, updated_at: now });
  await emit(tx, 'signing_key.generated', signingKeyData(row));
}

/** Makes the first RS256 key of an environment its primary one, unless it has one; safe when several processes do it at once. */
export async function ensureSigningKey(ctx: Context): Promise<void> {
  const existing = await listPublishedSigningKeys(ctx.scope);
  if (existing.some((row) => row.status === 'primary' && row.algorithm === 'RS256')) return;
  const key = await generateSigningKey(ctx, 'RS256');
  try {
    await transaction(ctx, (tx) => addPrimaryKey(tx, key));
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error;
  }
}

/** Lets nothing be signed with the algorithm any more; what was, can be verified until it has expired. */
export async function retireAlgorithm(tx: Context, algorithm: SigningAlgorithm): Promise<void> {
  const primary = await lockSigningKey(tx.scope, 'primary', algorithm);
  const next = await lockSigningKey(tx.scope, 'next', algorithm);
  const now = tx.clock.now();
  if (primary) await updateSigningKey(tx.scope, primary.kid, { status: 'previous', retired_at: now, updated_at: now });
  if (next) await deactivateKey(tx, next, 'manual');
}

/** Lets the next key sign from now on; the one until now stays published, so that what it signed can be verified. @throws {Refusal} 409 */
export async function activateKey(tx: Context, key: SigningKeyRow): Promise<SigningKeyRow> {
  const primary = await lockSigningKey(tx.scope, 'primary', key.algorithm);
  // As it is now: one that was read before may be deactivated meanwhile, because somebody else has it.
  const next = await lockSigningKey(tx.scope, 'next', key.algorithm);
  if (next?.kid !== key.kid) throw invalidTransition('Only a next key can be activated.');
  const now = tx.clock.now();
  if (primary) await updateSigningKey(tx.scope, primary.kid, { status: 'previous', retired_at: now, updated_at: now });
  const activated = await updateSigningKey(tx.scope, key.kid, { status: 'primary', activated_at: now, updated_at: now });
  if (!activated) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such key.' });
  return activated;
}

/**
 * Takes a key out of the published set: what it signed is refused from then on. Emits `signing_key.deactivated`.
 * @throws {Refusal} 409 for the primary key, and for one that is deactivated already
 */
export async function deactivateKey(tx: Context, key: SigningKeyRow, reason: 'manual' | 'rotation'): Promise<SigningKeyRow> {
  if (key.status === 'primary') throw invalidTransition('The primary key signs; activate another one first.');
  if (key.status === 'deactivated') throw invalidTransition('The key is deactivated already.');
  const now = tx.clock.now();
  const changed = await updateSigningKey(tx.scope, key.kid, { status: 'deactivated', deactivated_at: now, updated_at: now });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such key.' });
  const primary = await lockSigningKey(tx.scope, 'primary', key.algorithm);
  await emit(tx, 'signing_key.deactivated', {
    id: key.kid,
    kid: key.kid,
    algorithm: key.algorithm,
    status: 'deactivated',
    deactivated_at: now.toISOString(),
    reason,
    replaced_by: primary?.kid ?? null,
  });
  return changed;
}

/**
 * Takes every published key out of the set and puts new ones in their place, which sign at once: whatever was signed is refused from then on.
 * @param keys one for each algorithm that the environment signs with
 */
export async function replaceAllKeys(tx: Context, keys: readonly NewSigningKey[]): Promise<void> {
  const now = tx.clock.now();
  const published = await listPublishedSigningKeys(tx.scope);
  for (const { kid, status } of published)
    if (status === 'primary') await updateSigningKey(tx.scope, kid, { status: 'previous', retired_at: now, updated_at: now });
  for (const key of keys) await addPrimaryKey(tx, key);
  for (const key of published) await deactivateKey(tx, { ...key, status: 'previous' }, 'manual');
}
