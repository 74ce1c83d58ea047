import type { Context } from '../../../domain/context.js';
import { pendingCount, secretKeyStatus, unnamedKey, type SecretKeyStatus } from '../../../domain/secret-key/status.js';
import type { Part, Row } from '../../parts/page-parts.js';
import { figure, text } from '../../parts/values.js';

function rowOf({ id, seals, has_sealed, pending_count, may_go_at }: SecretKeyStatus, now: Date): Row {
  const label = id === unnamedKey ? 'Keys that values don’t name' : `Key ${id}`;
  if (seals) return { label, value: text('Encrypts new values') };
  if (may_go_at === null)
    return { label, value: text(`Still needed: ${figure(pending_count)} values, or a process that encrypts with it`) };
  if (!has_sealed) return { label, value: text('Nothing is encrypted with it') };
  const until = `${may_go_at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const rest =
    may_go_at <= now ? 'it can be removed' : `it can be removed after ${until}, when codes and links encrypted with it have expired`;
  return { label, value: text(`Nothing is encrypted with it; ${rest}`) };
}

/** The progress of a change of SECRET_KEY, shown in the default environment only; empty elsewhere. */
export async function secretKeyPart(ctx: Context): Promise<Part[]> {
  if (!ctx.environment.is_default) return [];
  const keys = await secretKeyStatus(ctx);
  const pending = pendingCount(keys);
  const rows = keys.map((key) => rowOf(key, ctx.clock.now()));
  const state = pending === 0 ? 'Nothing' : `${figure(pending)} values`;
  return [{ kind: 'summary', title: 'Encryption keys', rows: [{ label: 'Values to re-encrypt', value: text(state) }, ...rows] }];
}
