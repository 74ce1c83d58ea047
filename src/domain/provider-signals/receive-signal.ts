import { listSessionsThrough } from '../../db/tables/provider_sessions.js';
import { noteReceivedSignal } from '../../db/tables/received_signals.js';
import { endRedeemedOfSubject, revokeGrants } from '../../db/tables/revocations.js';
import { noteStreamVerified } from '../../db/tables/transmitter_streams.js';
import { digest } from '../../lib/digest.js';
import { noteSecurityEvent, recordSecurityEvent, serviceActor } from '../audit/security-trail.js';
import type { Connection } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { endSessions } from '../sessions/sessions.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import type { ReadSignal, RefusedSignal } from './read-signal.js';
import type { SignalSubject } from './signal-subject.js';

const targetOf = ({ id, name }: Connection) => ({ target_type: 'connection', target_id: id, display: name });

/** Ends what began through the account at the connection by then, and nothing else: not the account, other sign-ins, or later ones. @returns how many sessions */
async function endThrough(tx: Context, { id: connection_id }: Connection, { subject, sid }: SignalSubject, before: Date): Promise<number> {
  const sessions = await listSessionsThrough(tx.scope, { connection_id, subject, sid }, before);
  const ended = sessions.length === 0 ? [] : await endSessions(tx, { ids: sessions.map(({ id }) => id) }, 'signal');
  // What was granted for longer than the session ends with the sign-in behind it.
  for (const { id, user_id } of sessions) await revokeGrants(tx.scope, { user_id, session_id: id }, grantRevocationEnd(tx));
  if (subject !== null && sid === null) await endRedeemedOfSubject(tx.scope, connection_id, subject, before);
  return ended.length;
}

/**
 * Does what the signal says, once. Whether anybody is known there, and whether it came before, makes no difference for who sent it.
 * @returns false when it was received before
 */
export const receiveSignal = async (ctx: Context, connection: Connection, signal: ReadSignal, origin: Origin): Promise<boolean> =>
  transaction(ctx, async (tx) => {
    if (!(await noteReceivedSignal(tx.scope, connection.id, digest(signal.id), signal.expires_at))) return false;
    if (signal.verified_state != null) await noteStreamVerified(tx.scope, connection.id, signal.verified_state, tx.clock.now());
    for (const { kind, at } of signal.events) {
      tx.metrics.signalsReceived.inc({ kind });
      if (kind === 'other') continue;
      const sessions = signal.subject ? await endThrough(tx, connection, signal.subject, at) : 0;
      const detail = { signal: kind, sessions };
      await recordSecurityEvent(tx, 'signal.received', { actor: serviceActor, target: targetOf(connection), origin, detail });
    }
    return true;
  });

/** Leaves a trace of a signal that wasn't taken. */
export function noteRefusedSignal(ctx: Context, connection: Connection, { because }: RefusedSignal, origin: Origin): void {
  noteSecurityEvent(ctx, 'signal.refused', { target: targetOf(connection), origin, reason: because });
}
