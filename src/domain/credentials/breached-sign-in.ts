import { claimPasswordLookUp, notePasswordBreached, returnPasswordLookUp, type UserRow } from '../../db/tables/users.js';
import { startLoop, type Loop } from '../../platform/loop.js';
import { recordSecurityEvent, serviceActor, userParty } from '../audit/security-trail.js';
import { createContext, transaction, type Context, type Deps } from '../context.js';
import { personData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import type { ProvenPassword } from '../notes/proven-passwords.js';
import type { Origin } from '../origin.js';
import { looksUpPasswords } from '../users/new-password.js';

/** How long nobody asks again for the same password. */
const intervalMs = 30 * 86_400_000;
/** How old a sign-in may be whose password is still looked up: what waits longer is left for another one. */
const patienceMs = 30_000;
/** Look-ups at once, of all environments. */
const atOnce = 4;
const pauseMs = 1_000;

const isOn = (ctx: Pick<Context, 'environment' | 'crypto'>): boolean =>
  ctx.environment.breached_password_sign_in !== 'off' && looksUpPasswords(ctx);

const since = ({ clock }: Pick<Deps, 'clock'>): Date => new Date(clock.now().getTime() - intervalMs);

/** Whether the password of the user, which was right just now, signs nobody in any more, since it is known from a data breach (specification 4.1.9). */
export const needsReset = ({ environment }: Pick<Context, 'environment'>, user: Pick<UserRow, 'password_breached_at'>): boolean =>
  environment.breached_passwords === 'refuse' &&
  environment.breached_password_sign_in === 'require_reset' &&
  user.password_breached_at !== null;

/**
 * Leaves a password that was right to be looked up among leaked ones, where that wasn't done lately (specification 4.1.8): call it once the request is
 * answered. Costs no statement, and keeps no more of the password than what it is looked up by, in memory and for seconds.
 */
export function noteProvenPassword(ctx: Context, user: UserRow, password: string, origin: Origin): void {
  const { id: user_id, password_hash, password_looked_up_at: looked_up, password_breached_at } = user;
  if (!isOn(ctx) || password_hash === null || password_breached_at !== null || (looked_up !== null && looked_up >= since(ctx))) return;
  const { environment, clock } = ctx;
  const language = origin.language?.();
  const source = { ...origin, ...(language !== undefined && { language: () => language }) };
  const key = ctx.crypto.breachedPasswords.keyOf(password);
  const added = ctx.notes.provenPasswords.add({ environment, user_id, password_hash, key, origin: source, at: clock.elapsed() });
  if (!added) ctx.metrics.breachedPasswordChecks.inc({ result: 'skipped' });
}

/** Tells of a leaked password whoever may know: the person, administrators, webhooks and, by a trigger, streams of signals. Nothing when it is another one by now. */
async function tell(ctx: Context, { user_id, password_hash, origin }: ProvenPassword): Promise<void> {
  await transaction(ctx, async (tx) => {
    const at = tx.clock.now();
    const user = await notePasswordBreached(tx.scope, user_id, password_hash, at);
    if (!user) return;
    const reset_required = needsReset(tx, user);
    await emit(tx, 'password.breached', { ...personData(user), reset_required, found_at: at.toISOString() });
    const { target } = userParty(user);
    await recordSecurityEvent(tx, 'password.breached', { actor: serviceActor, target, origin, detail: { reset_required } });
    const model = { reset_url: `${tx.environment.issuer}/password/forgot`, reset_required };
    await queueMail(tx, { template: 'password_breached', to: user.email, locale: user.locale, model, origin });
  });
}

async function lookUp(deps: Deps, proven: ProvenPassword): Promise<void> {
  const ctx = createContext(deps, proven.environment);
  const { user_id, password_hash, key } = proven;
  if (deps.clock.elapsed() - proven.at > patienceMs) return deps.metrics.breachedPasswordChecks.inc({ result: 'skipped' });
  if (!(await claimPasswordLookUp(ctx.scope, user_id, password_hash, { at: deps.clock.now(), since: since(deps) }))) return;
  const found = await deps.crypto.breachedPasswords.lookUp(key);
  if (found === 'breached') await tell(ctx, proven);
  else if (found !== 'clean') await returnPasswordLookUp(ctx.scope, user_id, password_hash);
}

/** Looks up what sign-ins have left, a few at once; what is left when the process ends is dropped. @throws what the database throws, after the others */
export async function lookUpProvenPasswords(deps: Deps, signal?: AbortSignal): Promise<void> {
  const lane = async () => {
    for (let one = deps.notes.provenPasswords.next(); one; one = signal?.aborted ? undefined : deps.notes.provenPasswords.next())
      await lookUp(deps, one);
  };
  const lanes = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  const failed = lanes.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Looks every second; the look-ups under way end before it does. */
export const startPasswordLookUps = (deps: Deps): Loop =>
  startLoop({
    name: 'password_look_ups',
    pauseMs,
    logger: deps.logger,
    async pass(signal) {
      await lookUpProvenPasswords(deps, signal);
      return 'done';
    },
  });
