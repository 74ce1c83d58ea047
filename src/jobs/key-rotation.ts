import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { listEnvironments } from '../db/tables/environments.js';
import { listPublishedSigningKeys, longestSignedLifetime, type SigningKeyRow } from '../db/tables/signing_keys.js';
import type { SigningAlgorithm } from '../lib/signing-algorithm.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { createContext, transaction, type Context, type Deps } from '../domain/context.js';
import { recordSecurityEvent, serviceActor } from '../domain/audit/security-trail.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { noOrigin } from '../domain/origin.js';
import { activateKey, deactivateKey, publishNextKey } from '../domain/signing-keys/operations.js';
import { generateSigningKey } from '../domain/signing-keys/signing-keys.js';
import { forEachRecord } from './each-record.js';

const dayMs = 86_400_000;
/** A primary key signs for 90 days (specification 5.11.1). */
const rotationMs = 90 * dayMs;
/** The next key is published this long before it signs, so that every verifier has seen it. */
const publishedBeforeMs = dayMs;
const pauseMs = 600_000;

/** The `kid`s that a pass has generated, activated and deactivated. */
export type Rotation = { generated: string[]; activated: string[]; deactivated: string[] };

/** What the service does by itself is found where the rest is. */
const recordRotation = (tx: Context, kid: string, done: keyof Rotation) =>
  recordSecurityEvent(tx, 'signing_key.changed', {
    actor: serviceActor,
    target: { target_type: 'signing_key', target_id: kid },
    origin: noOrigin,
    detail: { action: `signing_key.${done}`, reason: 'rotation' },
  });

/** Generates and activates the keys of one algorithm according to their age (specification 5.11.1). */
async function rotateAlgorithm(ctx: Context, keys: readonly SigningKeyRow[], algorithm: SigningAlgorithm, done: Rotation): Promise<void> {
  const now = ctx.clock.now().getTime();
  const primary = keys.find((key) => key.status === 'primary');
  const next = keys.find((key) => key.status === 'next');
  const since = primary?.activated_at?.getTime() ?? now;
  if (!next && now >= since + rotationMs - publishedBeforeMs) {
    const key = await generateSigningKey(ctx, algorithm);
    await transaction(ctx, async (tx) => {
      await publishNextKey(tx, key);
      await recordRotation(tx, key.kid, 'generated');
    });
    done.generated.push(key.kid);
  } else if (next && now >= since + rotationMs && now >= next.created_at.getTime() + publishedBeforeMs) {
    await transaction(ctx, async (tx) => {
      await activateKey(tx, next);
      await recordRotation(tx, next.kid, 'activated');
    });
    done.activated.push(next.kid);
  }
}

/** The same of all algorithms of one environment, and deactivates what nothing needs any more. Needs the advisory lock. */
async function rotateKeys(ctx: Context, done: Rotation): Promise<void> {
  const now = ctx.clock.now().getTime();
  const keys = await listPublishedSigningKeys(ctx.scope);
  for (const algorithm of ctx.environment.signing_algorithms) {
    const own = keys.filter((key) => key.algorithm === algorithm);
    await rotateAlgorithm(ctx, own, algorithm, done);
  }
  const keepMs = (await longestSignedLifetime(ctx.scope)) * 1000;
  for (const key of keys) {
    if (key.status !== 'previous' || now < (key.retired_at?.getTime() ?? now) + keepMs) continue;
    await transaction(ctx, async (tx) => {
      await deactivateKey(tx, key, 'rotation');
      await recordRotation(tx, key.kid, 'deactivated');
    });
    done.deactivated.push(key.kid);
  }
}

/** One pass over all environments; an advisory lock lets one replica do it at a time. */
export async function rotationPass(deps: Deps): Promise<Rotation> {
  const done: Rotation = { generated: [], activated: [], deactivated: [] };
  await tryAdvisoryLock(deps.db.knex, 'signing_keys', async () => {
    await forEachRecord(await listEnvironments(deps.db.knex), async ({ id }) => {
      const environment = await findServedEnvironment(deps, id);
      if (environment) await rotateKeys(createContext(deps, environment), done);
    });
  });
  return done;
}

export function startSigningKeyRotation(deps: Deps): Loop {
  const pass = async () => {
    await rotationPass(deps);
    return 'done' as const;
  };
  return startLoop({ name: 'signing_keys', pauseMs, logger: deps.logger, pass });
}
