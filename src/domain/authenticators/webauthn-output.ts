import type { PublicKeyCredentialDescriptorJSON } from '@simplewebauthn/server';
import type { PasskeyRow } from '../../db/tables/authenticators.js';

/** A passkey as the options of a ceremony name it (WebAuthn L3 5.8.3). */
export const describeCredential = ({ credential_id, transports }: PasskeyRow): PublicKeyCredentialDescriptorJSON => ({
  type: 'public-key',
  id: credential_id,
  transports: transports as never[],
});
