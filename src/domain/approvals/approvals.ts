import type { ApprovalRow } from '../../db/tables/approvals.js';
import type { Aad } from '../../lib/seal.js';

export const approvalStatuses = ['pending', 'approved', 'refused', 'expired'] as const;

export const approvalStatus = ({ decision, expires_at }: ApprovalRow, now: Date): (typeof approvalStatuses)[number] =>
  decision ?? (expires_at <= now ? 'expired' : 'pending');

/** What a client that is pinged is sent (CIBA Core 1.0 10.2), as it is sealed. */
export type PingNotice = { readonly auth_req_id: string; readonly client_notification_token: string };

export const notificationAad = (id: string): Aad => `approvals/${id}`;

/** Where the person finds what they are asked. */
export const approvalPath = (id: string): string => `/approvals/${id}`;
