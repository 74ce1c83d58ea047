import { maxTroubledCounted } from '../../../db/tables/attention.js';
import { attentionKinds, listAttention, type Attention, type AttentionKind } from '../../../domain/health/attention.js';
import { healthState, lastAnswer } from '../../parts/health.js';
import type { Part, TableRow } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { may } from '../../parts/records/objects.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { figureUpTo, nothing, quiet, stack, state, text, time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** What it is called, and the collection whose readers are told of it. */
const kinds: Record<AttentionKind, { readonly word: string; readonly collection: string }> = {
  webhooks: { word: terms.webhook, collection: 'webhooks' },
  log_streams: { word: terms.log_stream, collection: 'log_streams' },
  connections: { word: terms.connection, collection: 'connections' },
  mail: { word: 'Mail', collection: 'environments' },
  signing_keys: { word: 'Signing key', collection: 'signing_keys' },
  custom_domains: { word: 'Custom domain', collection: 'custom_domains' },
};

const counted = (count: number, one: string, many: string) => `${figureUpTo(count, maxTroubledCounted)} ${count === 1 ? one : many}`;

/** What happened, in one line each: attempts that failed, what waits, what never arrived. */
function findings({ kind, health, retrying, lost }: Attention): string[] {
  const attempt =
    kind === 'connections'
      ? ['sign-in failed', 'sign-ins failed, none succeeded']
      : ['attempt failed in a row', 'attempts failed in a row'];
  const waiting = kind === 'mail' ? ['mail being retried', 'mails being retried'] : ['delivery being retried', 'deliveries being retried'];
  return [
    ...(health && health.attempts > 0 && kind !== 'mail' ? [counted(health.attempts, attempt[0] ?? '', attempt[1] ?? '')] : []),
    ...(retrying > 0 ? [counted(retrying, waiting[0] ?? '', waiting[1] ?? '')] : []),
    ...(lost > 0 ? [counted(lost, 'event did not arrive', 'events did not arrive')] : []),
  ];
}

/** Where it is mended, for whoever may write the record; others are led to what happened. */
function fixOf({ req }: ViewContext, { kind, id, health, lost }: Attention): { label: string; path: string } {
  const { call } = req;
  const writes = may(call, kinds[kind].collection, 'write');
  const record = id === null ? null : recordPath(kind, id);
  if (kind === 'mail')
    return call.ctx.environment.is_default && call.actor.permissions.has('diagnostics:read')
      ? { label: 'Run diagnostics', path: '/dashboard/doctor' }
      : { label: 'Configure mail', path: '/docs/operations#configuration' };
  if (kind === 'signing_keys' && writes && (record === null || health?.error === 'key_no_next'))
    return { label: terms.generate_next_key, path: '/dashboard/signing_keys/new' };
  if (record === null) return { label: 'See all keys', path: '/dashboard/signing_keys' };
  if (kind === 'webhooks') {
    if (health?.trouble === 'stopped' && writes) return { label: 'Enable again', path: `${record}/edit` };
    if (health === null && lost > 0 && writes) return { label: 'Redeliver', path: `${record}/redeliver_failed` };
    return { label: 'See what was answered', path: `${record}/deliveries` };
  }
  if (!writes) return { label: 'See details', path: record };
  if (kind === 'log_streams')
    return health?.trouble === 'stopped' ? { label: 'Resume', path: `${record}/edit` } : { label: terms.send_test, path: record };
  return {
    label: { connections: terms.test_connection, signing_keys: 'See the key', custom_domains: 'See the domain' }[kind],
    path: record,
  };
}

function rowOf(view: ViewContext, one: Attention): TableRow {
  const { kind, id, name, health } = one;
  const fix = fixOf(view, one);
  const { word } = kinds[kind];
  return {
    path: id === null ? null : recordPath(kind, id),
    cells: [
      name === '' ? text(word) : stack(text(name), quiet(word)),
      stack(healthState(health, state('warning', 'Incomplete')), ...findings(one).map(quiet)),
      health === null ? nothing : text(lastAnswer(health)),
      health?.since ? time(health.since.toISOString(), view.now) : nothing,
      { kind: 'link', text: fix.label, path: fix.path, about: name === '' ? word : name },
    ],
  };
}

/** What needs somebody, as far as whoever looks may read it. */
export const attentionOf = async ({ req: { call } }: ViewContext): Promise<Attention[]> =>
  listAttention(
    call.ctx,
    attentionKinds.filter((kind) => may(call, kinds[kind].collection, 'read')),
  );

/** The list of it, above everything else on the overview. */
export function attentionParts(view: ViewContext, found: readonly Attention[]): Part[] {
  if (found.length === 0) return [];
  return [
    pageTable({
      id: 'attention',
      caption: 'Needs attention',
      columns: ['Where', terms.status, 'Cause', 'Since', 'Fix'],
      rows: found.map((one) => rowOf(view, one)),
      nothing: [terms.none, ''],
    }),
  ];
}
