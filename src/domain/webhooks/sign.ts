import { createHmac } from 'node:crypto';

/** What `webhook-id` and `webhook-timestamp` say and `webhook-signature` covers (Standard Webhooks 1.0). */
export type SignedMessage = { readonly id: string; readonly timestamp: number; readonly body: Buffer | string };

/**
 * The service's own signature (specification 7.3.2): HMAC-SHA256 of the body, keyed with the UTF-8 bytes of the whole
 * secret string as it was shown.
 */
export const serviceSignature = (secret: string, body: Buffer | string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const secretPrefix = /^whsec_/;

/** The Standard Webhooks signature: `v1,` and the HMAC-SHA256 of `id.timestamp.body`, keyed with the base64-decoded part of the secret. */
export function standardSignature(secret: string, { id, timestamp, body }: SignedMessage): string {
  const key = Buffer.from(secret.replace(secretPrefix, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

/**
 * The headers of a delivery, exactly (specification 7.3).
 * @param previousSecret also signs the Standard Webhooks header, for the 24 hours after a rotation
 */
export function deliveryHeaders(
  secret: string,
  previousSecret: string | null,
  event_type: string,
  message: SignedMessage,
): Record<string, string> {
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
  return {
    'Content-Type': 'application/json',
    'X-Service-Signature': serviceSignature(secret, message.body),
    'X-Service-Event': event_type,
    'User-Agent': 'Service-Webhook/1.0',
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': secrets.map((one) => standardSignature(one, message)).join(' '),
  };
}
