import { notificationAad, type PingNotice } from '../../domain/approvals/approvals.js';
import type { Deps } from '../../domain/context.js';
import { approvalPingRows, oldestDueApprovalPingSeconds, recordApprovalPings, type ApprovalRow } from '../../db/tables/approvals.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import { sendingQueue, smallRequest, type RowSender } from '../queue/row-sender.js';

const approvalPings: RowSender<ApprovalRow> = {
  name: 'approval_ping',
  rows: approvalPingRows,
  // After the last one the client is left to ask by itself (CIBA Core 1.0 5).
  retryDelaysMs: [2_000, 10_000, 30_000, 120_000],
  oldestDueSeconds: oldestDueApprovalPingSeconds,
  record: recordApprovalPings,

  /** A ping (CIBA Core 1.0 10.2). */
  async post({ net, crypto }, row, signal) {
    if (row.notification_sealed === null || row.notification_endpoint === null) return { response_status: null, error: null };
    const opened = JSON.parse(crypto.sealer.open(row.notification_sealed, notificationAad(row.id))) as PingNotice;
    const { auth_req_id, client_notification_token } = opened;
    const { status } = await net.fetch.request(row.notification_endpoint, {
      ...smallRequest(signal),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${client_notification_token}` },
      body: JSON.stringify({ auth_req_id }),
    });
    return { response_status: status, error: status >= 200 && status < 300 ? null : 'refused' };
  },

  noteUnsent: (logger, err, { id }) => logger.warn({ event: 'approval_ping.unsent', err, id }, 'a client could not be told of an answer'),
  note(logger, { environment_id, client_id, id, attempt_count }, { ok, error, retry_in_ms }, lost) {
    const log = { environment_id, client_id, id, attempt: attempt_count + 1 };
    if (lost) logger.warn({ event: 'approval_ping.lease_lost', id }, 'another process has taken over a ping');
    else if (ok) logger.info({ event: 'approval_ping.done', ...log }, 'a client was told of an answer');
    else
      logger.warn(
        { event: 'approval_ping.failed', ...log, reason: error, last: retry_in_ms === null },
        'a client did not take the word of an answer',
      );
  },
};

/** Tells clients that people have answered, until stopped; woken when one does. */
export const startApprovalPings = (deps: Deps): Loop => startQueueLoop(sendingQueue(approvalPings, deps), deps);
