import { randomBytes } from 'node:crypto';
import type { Aad, Sealer } from '../../lib/seal.js';

/** What a webhook's secret is sealed for: it doesn't open for another webhook. */
export const webhookSecretAad = (webhook_id: string): Aad => `webhooks/${webhook_id}`;

/** How long the secret before a rotation still signs the Standard Webhooks header, in milliseconds. */
export const previousSecretLifetimeMs = 24 * 3_600_000;

/** A signing secret: `whsec_` and standard base64 of 24 to 64 bytes (Standard Webhooks 1.0). */
export const isSigningSecret = (text: string): boolean =>
  /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(text) && ((bytes) => bytes >= 24 && bytes <= 64)(Buffer.from(text.slice(6), 'base64').length);

/** A new signing secret, unless one is given, in plain (of 32 random bytes) and as its row keeps it, sealed for `place`. */
export function mintSigningSecret(
  sealer: Sealer,
  aad: Aad,
  given?: string,
): { signing_secret: string; secret_sealed: Buffer; secret_hint: string } {
  const signing_secret = given ?? `whsec_${randomBytes(32).toString('base64')}`;
  return { signing_secret, secret_sealed: sealer.seal(signing_secret, aad), secret_hint: signing_secret.slice(-4) };
}

/** Opens sealed secrets and remembers the latest ones: sending a thousand deliveries opens one seal. */
export type SecretOpener = {
  /** @throws {SealError} when the secret doesn't open */
  open(webhook_id: string, which: 'current' | 'previous', sealed: Buffer): string;
};

const maxRemembered = 1000;

export function createSecretOpener(sealer: Sealer): SecretOpener {
  const opened = new Map<string, { sealed: Buffer; plain: string }>();
  return {
    open(webhook_id, which, sealed) {
      const name = `${webhook_id} ${which}`;
      const known = opened.get(name);
      // The deliveries of one claim share the very object.
      if (known?.sealed === sealed) return known.plain;
      if (known?.sealed.equals(sealed)) {
        known.sealed = sealed;
        return known.plain;
      }
      const plain = sealer.open(sealed, webhookSecretAad(webhook_id));
      if (opened.size >= maxRemembered) opened.clear();
      opened.set(name, { sealed, plain });
      return plain;
    },
  };
}
