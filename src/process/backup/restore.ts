import type { Knex } from 'knex';
import { loadInto } from '../../db/backup/load.js';
import { sinceBaseline } from '../../db/migrations/baseline.js';
import { BackupRefusal } from '../../db/backup/refusal.js';
import { listEnvironments } from '../../db/tables/environments.js';
import { revokeAllSessions } from '../../db/tables/sessions.js';
import { recordSecurityEvent, serviceActor } from '../../domain/audit/security-trail.js';
import { createContext, transaction, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { noOrigin } from '../../domain/origin.js';
import { requirePrimaryKeys } from '../../domain/secret-key/check.js';
import { replaceAllKeys } from '../../domain/signing-keys/operations.js';
import { generateSigningKey } from '../../domain/signing-keys/signing-keys.js';
import { rowsOf } from './contents.js';
import type { Manifest } from './manifest.js';

/** Tokens, codes, half-finished sign-ins and browsers that skip the second step: what was withdrawn since the backup would be good again. */
export const lettingIn: ReadonlySet<string> = new Set([
  'access_tokens',
  'authorization_codes',
  'device_codes',
  'devices',
  'passcodes',
  'pushed_requests',
  'refresh_tokens',
  'registration_tokens',
  'sign_ins',
  'sso_flows',
]);

/** A JWT is good by its signature: only other keys end those that somebody holds. */
async function replaceSigningKeys(deps: Deps): Promise<void> {
  for (const { id } of await listEnvironments(deps.db.knex)) {
    const environment = await findEnvironmentById(deps, id);
    if (!environment) continue;
    const ctx = createContext(deps, environment);
    const keys = await Promise.all(environment.signing_algorithms.map((algorithm) => generateSigningKey(ctx, algorithm)));
    await transaction(ctx, async (tx) => {
      await replaceAllKeys(tx, keys);
      for (const { kid } of keys)
        await recordSecurityEvent(tx, 'signing_key.changed', {
          actor: serviceActor,
          target: { target_type: 'signing_key', target_id: kid },
          origin: noOrigin,
          detail: { action: 'signing_key.replaced', reason: 'restore' },
        });
    });
  }
}

/** In the restore's own transaction: the keys must open, and unless they are kept nobody is signed in any more. */
async function finishRestore(deps: Deps, trx: Knex.Transaction, keepSessions: boolean): Promise<void> {
  const inTransaction: Deps = { ...deps, db: { ...deps.db, knex: trx } };
  await requirePrimaryKeys(inTransaction).catch((error: unknown) => {
    throw new BackupRefusal((error as Error).message, { cause: error });
  });
  if (keepSessions) return;
  await revokeAllSessions(trx, deps.clock.now(), 'restored');
  await replaceSigningKeys(inTransaction);
  // What was remembered of the transaction is nobody else's.
  deps.cache.clear();
}

/**
 * Loads a checked backup into an empty database, with the schema that it had; the next start migrates that further.
 * @param keepSessions leaves sessions, tokens and signing keys as they were
 * @throws {BackupRefusal}; nothing is written then
 */
export async function restoreBackup(
  deps: Deps,
  { url, path, manifest, keepSessions }: { url: string; path: string; manifest: Manifest; keepSessions: boolean },
): Promise<void> {
  const { migrations, tables, sequences } = manifest;
  await loadInto(url, {
    migrations: sinceBaseline(migrations),
    tables,
    sequences,
    without: keepSessions ? new Set() : lettingIn,
    rows: rowsOf(path, manifest),
    finish: (trx) => finishRestore(deps, trx, keepSessions),
  });
}
