import type { FailureReason } from '../../db/tables/webhook_deliveries.js';
import type { OutboundReason } from '../../platform/fetch/fetch.js';

/** What an exchange without a response is called in the record of an attempt. */
export const outboundFailures: Record<OutboundReason, FailureReason> = {
  timeout: 'timeout',
  dns: 'dns',
  connect: 'connect',
  tls: 'tls',
  blocked_address: 'blocked_address',
  // A response that isn't valid HTTP, or whose headers are too long.
  protocol: 'connect',
  too_large: 'connect',
  busy: 'connect',
};

/** Any 2xx is success (null); redirects aren't followed (specification 7.4.2). */
export function failureOfStatus(status: number): FailureReason | null {
  if (status >= 200 && status <= 299) return null;
  return status >= 300 && status <= 399 ? 'redirect' : 'non_2xx';
}
