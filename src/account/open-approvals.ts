import type { Request } from 'express';
import { listOpenApprovals } from '../db/tables/approvals.js';
import { approvalPath } from '../domain/approvals/approvals.js';
import type { PageApproval } from '../http/pages/application-models.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import type { Words } from '../http/pages/words.js';

/** What waits for the person's answer, the newest first. */
export async function openApprovals({ ctx, session }: Request, words: Words): Promise<PageApproval[]> {
  const waiting = session ? await listOpenApprovals(ctx.scope, session.user_id, ctx.clock.now()) : [];
  return waiting.map(({ id, client_id, client, binding_message, created_at, expires_at }) => ({
    id,
    client_id,
    name: shownNameOf(words, client),
    binding_message,
    path: approvalPath(id),
    requested_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  }));
}
