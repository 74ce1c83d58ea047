import type { Loop } from '../platform/loop.js';
import type { Deps } from '../domain/context.js';
import { startMailLoop } from '../outbox/mail/send.js';
import { startWebhookLoop } from '../outbox/webhooks/loop.js';
import { startBackchannelLogout } from '../outbox/back-channel/send.js';
import { startApprovalPings } from '../outbox/approvals/send.js';
import { startProviderRevocations } from '../outbox/provider-revocations/send.js';
import { startLogStreams } from '../outbox/log-streams/loop.js';
import { startSignals } from '../outbox/signals/loop.js';
import { startEventNumbers } from '../jobs/event-feed.js';

/** What requests have left behind for others, which any process may deliver. */
export const startDeliveries = (deps: Deps): Record<string, Loop> => ({
  mail: startMailLoop(deps),
  webhook: startWebhookLoop(deps),
  backchannel_logout: startBackchannelLogout(deps),
  approval_ping: startApprovalPings(deps),
  provider_revocation: startProviderRevocations(deps),
  log_stream: startLogStreams(deps),
  signal: startSignals(deps),
  events: startEventNumbers(deps),
});
