import type { webhooks } from './management-api.js';

/** What a webhook is sent, by its `event`. */
export type WebhookEvent = {
  [Type in keyof webhooks]: webhooks[Type] extends { post: { requestBody: { content: { 'application/json': infer Payload } } } }
    ? Payload
    : never;
}[keyof webhooks];

export type WebhookDelivery = {
  /** The signing secret, `whsec_...`; several while one is replaced by another. */
  readonly secret: string | readonly string[];
  /** The body as it came, before any parsing. */
  readonly body: string | Uint8Array;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** How old or far ahead the delivery may be, in seconds; 300 unless given. */
  readonly toleranceSeconds?: number;
};

/** Why a delivery is not to be believed. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

function headerOf(headers: WebhookDelivery['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : (headers[name] ?? null);
  if (typeof value !== 'string' || value === '') throw new WebhookError(`the header ${name} is missing`);
  return value;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    return null;
  }
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith('whsec_') ? bytesOf(secret.slice('whsec_'.length)) : null;
  if (!bytes?.length) throw new WebhookError('this is no signing secret: it begins with whsec_');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/**
 * The event of a delivery that the service has signed, and signed lately (Standard Webhooks). Compares in constant time. A delivery may come twice:
 * `event_id` tells.
 * @throws {WebhookError}
 */
export async function verifyWebhook({ secret, body, headers, toleranceSeconds = 300 }: WebhookDelivery): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp ?? '') || age > toleranceSeconds) throw new WebhookError('the delivery is too old, or of the future');
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  const given = (signatures ?? '').split(' ').flatMap((one) => (one.startsWith('v1,') ? (bytesOf(one.slice(3)) ?? []) : []));
  for (const one of [secret].flat()) {
    const key = await keyOf(one);
    for (const signature of given)
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
  }
  throw new WebhookError('the signature does not fit');
}
