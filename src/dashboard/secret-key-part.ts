import type { Context } from '../domain/context.js';
import { pendingCount, secretKeyStatus, unnamedKey, type SecretKeyStatus } from '../domain/secret-key/status.js';
import type { Part, Row } from './page-parts.js';
import { figure, text } from './values.js';
import { fill, sentences, terms } from './words.js';

function rowOf({ id, seals, has_sealed, pending_count, may_go_at }: SecretKeyStatus, now: Date): Row {
  const label = id === unnamedKey ? terms.keys_that_values_dont_name : fill(terms.key_named, { id });
  if (seals) return { label, value: text(terms.seals_everything_that_is_new) };
  if (may_go_at === null)
    return { label, value: text(fill(sentences.still_needed_pending_count_values, { pending_count: figure(pending_count) })) };
  if (!has_sealed) return { label, value: text(terms.nothing_is_sealed_with_it) };
  const until = `${may_go_at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const rest = may_go_at <= now ? terms.it_may_be_taken_out : fill(sentences.it_may_be_taken_out, { until });
  return { label, value: text(fill(terms.nothing_is_sealed_with_it_and, { rest })) };
}

/** The progress of a change of SECRET_KEY, shown in the default environment only; empty elsewhere. */
export async function secretKeyPart(ctx: Context): Promise<Part[]> {
  if (!ctx.environment.is_default) return [];
  const keys = await secretKeyStatus(ctx);
  const pending = pendingCount(keys);
  const rows = keys.map((key) => rowOf(key, ctx.clock.now()));
  const state = pending === 0 ? terms.nothing : fill(terms.pending_values, { pending: figure(pending) });
  return [{ kind: 'summary', title: terms.encryption_keys, rows: [{ label: terms.values_to_re_encrypt, value: text(state) }, ...rows] }];
}
