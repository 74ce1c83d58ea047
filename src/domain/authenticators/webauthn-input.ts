import { z } from 'zod';

// What pages post of a ceremony (WebAuthn L3 5.1, `toJSON`): texts in base64url, bounded. The library reads what is in them.
const encoded = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\w-]+$/);

/** 1023 bytes (WebAuthn L3 7.1, step 25). */
const credentialId = encoded(1364);
const base = { id: credentialId, rawId: credentialId, type: z.literal('public-key') };

/** The answer to `navigator.credentials.create`. */
export const registrationResponse = z.object({
  ...base,
  response: z.object({
    clientDataJSON: encoded(4096),
    attestationObject: encoded(16_384),
    transports: z.array(z.string().max(32)).max(8).optional(),
  }),
  clientExtensionResults: z.object({ credProps: z.object({ rk: z.boolean().optional() }).optional() }).default({}),
});

/** The answer to `navigator.credentials.get`. */
export const authenticationResponse = z.object({
  ...base,
  response: z.object({
    clientDataJSON: encoded(4096),
    authenticatorData: encoded(4096),
    signature: encoded(4096),
    // An authenticator without one may say so by null or an empty text.
    userHandle: z
      .string()
      .max(128)
      .regex(/^[\w-]*$/)
      .nullish(),
  }),
});

const clientData = z.object({ challenge: z.string().max(512), crossOrigin: z.boolean().optional(), topOrigin: z.string().optional() });

/**
 * The challenge that the browser says it was asked with; null when it can't be read, or when the page was framed by another site
 * (WebAuthn L3 7.1 step 10 and 7.2 step 13), which none of ours may be.
 */
export function webauthnChallengeOf({ response }: { response: { clientDataJSON: string } }): string | null {
  try {
    const parsed = clientData.safeParse(JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8')));
    if (!parsed.success || parsed.data.crossOrigin === true || parsed.data.topOrigin !== undefined) return null;
    return parsed.data.challenge;
  } catch {
    return null;
  }
}

/** A user's handle: the 16 bytes of the id (WebAuthn L3 14.6.1: nothing that tells who it is), in base64url. */
export const userHandleOf = (user_id: string): string => Buffer.from(user_id.replaceAll('-', ''), 'hex').toString('base64url');
