import type { Request } from 'express';
import { listOpenApprovals, type OpenApproval } from '../db/tables/approvals.js';
import { approvalPath } from '../domain/approvals/approvals.js';
import type { PageApproval } from '../http/pages/application-models.js';
import { detailReader } from '../http/pages/detail-texts.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import type { Words } from '../http/pages/words.js';

/** What waits for the person's answer, the newest first. */
export async function openApprovals({ ctx, session }: Request, words: Words): Promise<PageApproval[]> {
  const waiting = session ? await listOpenApprovals(ctx.scope, session.user_id, ctx.clock.now()) : [];
  const detailsOf = ({ authorization_details }: OpenApproval) => authorization_details ?? [];
  const textOf = await detailReader(ctx, words, waiting.flatMap(detailsOf));
  return waiting.map((one) => ({
    id: one.id,
    client_id: one.client_id,
    name: shownNameOf(words, one.client),
    binding_message: one.binding_message,
    details: detailsOf(one).flatMap((detail) => textOf(detail) ?? []),
    path: approvalPath(one.id),
    requested_at: one.created_at.toISOString(),
    expires_at: one.expires_at.toISOString(),
  }));
}
