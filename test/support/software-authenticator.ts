import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { encodeCBOR, type CBORType } from '@levischuck/tiny-cbor';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';

type Credential = {
  readonly id: string;
  readonly rp_id: string;
  readonly user_handle: string;
  readonly key: KeyObject;
  readonly algorithm: number;
  readonly discoverable: boolean;
  sign_count: number;
};

/** How the authenticator and the browser behave; each member can be wrong on purpose. */
export type Behaviour = {
  /** Where the browser is. */
  readonly origin: string;
  /** The authenticator verifies its user; true unless told otherwise. */
  readonly user_verified?: boolean;
  readonly user_present?: boolean;
  /** BE and BS (WebAuthn L3 6.1.3): a synced passkey has both. */
  readonly backup_eligible?: boolean;
  readonly backed_up?: boolean;
  /** The count to state; without it the authenticator counts up by itself. */
  readonly sign_count?: number;
  readonly rp_id?: string;
  readonly challenge?: string;
  readonly cross_origin?: boolean;
  readonly top_origin?: string;
  readonly type?: string;
  readonly user_handle?: string | null;
};

/** Further choices when a credential is made. */
export type Making = Behaviour & {
  readonly algorithm?: -8 | -7 | -257;
  /** What the client says of it (`credProps`); undefined: nothing. */
  readonly discoverable?: boolean | undefined;
  readonly credential_id?: Buffer;
};

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');

/** A key pair and its public part in COSE (RFC 9053). */
function keyPair(algorithm: number): { key: KeyObject; cose: Map<number, number | Uint8Array> } {
  if (algorithm === -7) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x, y } = publicKey.export({ format: 'jwk' });
    return { key: privateKey, cose: new Map<number, number | Uint8Array>([[1, 2], [3, -7], [-1, 1], [-2, bytes(x)], [-3, bytes(y)]]) }; // prettier-ignore
  }
  if (algorithm === -8) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { x } = publicKey.export({ format: 'jwk' });
    return { key: privateKey, cose: new Map<number, number | Uint8Array>([[1, 1], [3, -8], [-1, 6], [-2, bytes(x)]]) }; // prettier-ignore
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n, e } = publicKey.export({ format: 'jwk' });
  return { key: privateKey, cose: new Map<number, number | Uint8Array>([[1, 3], [3, -257], [-1, bytes(n)], [-2, bytes(e)]]) }; // prettier-ignore
}

/** Authenticator data (WebAuthn L3 6.1), without attested credential data. */
function authenticatorData(rp_id: string, flags: Behaviour & { attested?: boolean }, sign_count: number): Buffer {
  const { user_present = true, user_verified = true, backup_eligible = false, backed_up = false, attested = false } = flags;
  const bits =
    (user_present ? 0x01 : 0) | (user_verified ? 0x04 : 0) | (backup_eligible ? 0x08 : 0) | (backed_up ? 0x10 : 0) | (attested ? 0x40 : 0);
  const head = Buffer.alloc(5);
  head.writeUInt8(bits, 0);
  head.writeUInt32BE(sign_count, 1);
  return Buffer.concat([sha256(rp_id), head]);
}

const clientData = (type: string, challenge: string, { origin, cross_origin = false, top_origin }: Behaviour) =>
  Buffer.from(
    JSON.stringify({ type, challenge, origin, crossOrigin: cross_origin, ...(top_origin === undefined ? {} : { topOrigin: top_origin }) }),
  );

/** An authenticator in software, with the browser around it: what it answers is what a page would post. */
export class SoftwareAuthenticator {
  readonly credentials: Credential[] = [];

  /** `navigator.credentials.create`, as JSON. @throws {Error} when a credential of `excludeCredentials` is here */
  create(options: PublicKeyCredentialCreationOptionsJSON, how: Making): RegistrationResponseJSON {
    if (options.excludeCredentials?.some(({ id }) => this.credentials.some((one) => one.id === id))) throw new Error('InvalidStateError');
    const algorithm = how.algorithm ?? (options.pubKeyCredParams[0]?.alg as number);
    const { key, cose } = keyPair(algorithm);
    const rp_id = how.rp_id ?? options.rp.id ?? '';
    const credential_id = how.credential_id ?? randomBytes(32);
    const sign_count = how.sign_count ?? 0;
    const id = credential_id.toString('base64url');
    const wanted = options.authenticatorSelection?.residentKey !== 'discouraged';
    const discoverable = 'discoverable' in how ? how.discoverable : wanted;
    this.credentials.push({ id, rp_id, user_handle: options.user.id, key, algorithm, discoverable: discoverable !== false, sign_count });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(credential_id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, credential_id, encodeCBOR(cose)]);
    const authData = Buffer.concat([authenticatorData(rp_id, { ...how, attested: true }, sign_count), attested]);
    const attestation = encodeCBOR(new Map<string, CBORType>([['fmt', 'none'], ['attStmt', new Map()], ['authData', new Uint8Array(authData)]])); // prettier-ignore
    return {
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: discoverable === undefined ? {} : { credProps: { rk: discoverable } },
      response: {
        clientDataJSON: clientData(how.type ?? 'webauthn.create', how.challenge ?? options.challenge, how).toString('base64url'),
        attestationObject: Buffer.from(attestation).toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  /** `navigator.credentials.get`, as JSON. @throws {Error} when it has no credential that is asked for */
  get(options: PublicKeyCredentialRequestOptionsJSON, how: Behaviour, credential_id?: string): AuthenticationResponseJSON {
    const allowed = options.allowCredentials ?? [];
    const fits = ({ id, rp_id, discoverable }: Credential) =>
      credential_id === undefined
        ? rp_id === options.rpId && (allowed.length === 0 ? discoverable : allowed.some((one) => one.id === id))
        : id === credential_id;
    const credential = this.credentials.find(fits);
    if (!credential) throw new Error('NotAllowedError');
    credential.sign_count = how.sign_count ?? (credential.sign_count === 0 ? 0 : credential.sign_count + 1);
    const data = authenticatorData(how.rp_id ?? credential.rp_id, how, credential.sign_count);
    const client = clientData(how.type ?? 'webauthn.get', how.challenge ?? options.challenge, how);
    const signed = Buffer.concat([data, sha256(client)]);
    const user_handle = how.user_handle === undefined ? (credential.discoverable ? credential.user_handle : null) : how.user_handle;
    return {
      id: credential.id,
      rawId: credential.id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign(credential.algorithm === -8 ? null : 'sha256', signed, credential.key).toString('base64url'),
        ...(user_handle !== null && { userHandle: user_handle }),
      },
    };
  }
}
