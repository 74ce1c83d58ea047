import { countApiResourcesSignedWith } from '../../db/tables/api_resources.js';
import { countClientsSignedWith } from '../../db/tables/clients.js';
import { countExternalServersSignedWith } from '../../db/tables/external_servers.js';
import { lockSigningAlgorithms, storeSigningAlgorithm } from '../../db/tables/environments.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { recordSecurityEvent, serviceActor } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';
import { invalidValue, type Problem, Refusal, refuseIfAny, unfit } from '../refusal.js';
import { addPrimaryKey, retireAlgorithm } from './operations.js';
import { generateSigningKey, type NewSigningKey } from './signing-keys.js';

/** Clients that read nothing of algorithms rely on it (RFC 7518 3.1, OIDC Core 15.1). */
const always: SigningAlgorithm = 'RS256';

/** Keys for those algorithms of `wanted` that `present` lacks: made outside of any transaction. */
export const generateKeysFor = (
  ctx: Pick<Context, 'crypto'>,
  requested: readonly SigningAlgorithm[] | undefined,
  present: readonly SigningAlgorithm[],
): Promise<NewSigningKey[]> =>
  Promise.all((requested ?? []).filter((algorithm) => !present.includes(algorithm)).map((algorithm) => generateSigningKey(ctx, algorithm)));

/** What speaks against the list of an environment. */
export const signingAlgorithmProblems = (requested: readonly SigningAlgorithm[] | undefined): Problem[] =>
  requested === undefined || requested.includes(always)
    ? []
    : [invalidValue('signing_algorithms', `${always} stays: clients that choose nothing rely on it.`)];

async function refuseIfInUse(tx: Context, algorithm: SigningAlgorithm): Promise<void> {
  const clients = await countClientsSignedWith(tx.scope, algorithm);
  const resources = await countApiResourcesSignedWith(tx.scope, algorithm);
  const external_servers = await countExternalServersSignedWith(tx.scope, algorithm);
  if (clients + resources + external_servers === 0) return;
  throw new Refusal({
    status: 409,
    code: 'signing_algorithm_in_use',
    attribute: 'signing_algorithms',
    detail: `${algorithm} is chosen by ${clients} clients, ${resources} API resources and ${external_servers} external servers: choose another one there first.`,
    meta: { algorithm, clients, api_resources: resources, external_servers },
  });
}

/**
 * Gives each algorithm that came a key that signs at once, and lets those that went sign no more. The environment's row has been changed in the same
 * transaction, and so is locked: nobody chooses an algorithm meanwhile that goes.
 * @param keys of {@link generateKeysFor}
 * @throws {Refusal} 409 for one that is in use, and when the list was changed meanwhile
 */
export async function changeSigningAlgorithms(
  tx: Context,
  before: readonly SigningAlgorithm[],
  after: readonly SigningAlgorithm[],
  keys: readonly NewSigningKey[],
): Promise<void> {
  for (const algorithm of before.filter((one) => !after.includes(one))) {
    await refuseIfInUse(tx, algorithm);
    await retireAlgorithm(tx, algorithm);
  }
  for (const algorithm of after.filter((one) => !before.includes(one))) {
    const key = keys.find((one) => one.algorithm === algorithm);
    if (!key)
      throw new Refusal({ status: 409, code: 'conflict', detail: 'The algorithms were changed meanwhile: read them and try again.' });
    await addPrimaryKey(tx, key);
  }
}

/**
 * Lets the environment sign with the algorithm of the key too, unless it does already, as the profile of a client wants. Emits `signing_key.generated`,
 * and records `signing_key.changed`: that a client is changed doesn't say so.
 */
export async function addSigningAlgorithm(tx: Context, key: NewSigningKey): Promise<void> {
  if (!(await storeSigningAlgorithm(tx.scope, key.algorithm, tx.clock.now()))) return;
  await addPrimaryKey(tx, key);
  await recordSecurityEvent(tx, 'signing_key.changed', {
    actor: serviceActor,
    target: { target_type: 'signing_key', target_id: key.kid },
    origin: noOrigin,
    detail: { action: 'signing_key.generated', reason: 'profile' },
  });
}

/**
 * Lets a client or an API resource be saved with algorithms that the environment signs with; they can't go until the transaction ends.
 * @param chosen by attribute; null and undefined choose nothing
 * @throws {Refusal} 422
 */
export async function requireSigningAlgorithms(
  tx: Context,
  chosen: Readonly<Record<string, SigningAlgorithm | null | undefined>>,
): Promise<void> {
  const others = Object.entries(chosen).filter(([, algorithm]) => algorithm && algorithm !== always);
  if (others.length === 0) return;
  const available = await lockSigningAlgorithms(tx.scope);
  refuseIfAny(
    others
      .filter(([, algorithm]) => !available.includes(algorithm as SigningAlgorithm))
      .map(([attribute, algorithm]) =>
        unfit(
          attribute,
          'signing_algorithm_unavailable',
          `This environment signs with ${available.join(', ')}: add ${String(algorithm)} to its signing_algorithms first.`,
        ),
      ),
  );
}
