import type { ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { WebhookRow } from '../../db/tables/webhooks.js';
import { isSecretless } from '../../domain/clients/registration.js';
import { providerSecretPlace } from '../../domain/connections/connections.js';
import { isSigningSecret, webhookSecretPlace } from '../../domain/webhooks/secrets.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { pointerTo, refuse } from '../problems.js';
import type { Row } from '../resource.js';
import type { SecretReference } from './document.js';
import type { KindName } from './kinds.js';
import type { LiveRecord } from './live.js';
import type { Item } from './read-document.js';
import { note, placeOf, secretMark, type Run } from './run.js';

/** What a reference is called among the secrets that come with a document. */
export const secretName = (reference: SecretReference): string => ('env' in reference ? `env:${reference.env}` : `file:${reference.file}`);

/** Shorter ones can be guessed. */
const leastLength = 32;

const looked: Partial<Readonly<Record<KindName, (value: string) => string | null>>> = {
  client: (value) =>
    value.length < leastLength || value.length > 512 || !/^[\x21-\x7e]+$/.test(value)
      ? `The secret of a client has ${leastLength} to 512 visible ASCII characters.`
      : null,
  connection: (value) => (value.length < 1 || value.length > 8192 ? 'The client secret of a provider has 1 to 8192 characters.' : null),
  webhook: (value) => (isSigningSecret(value) ? null : 'A signing secret is whsec_ and base64 of 24 to 64 bytes.'),
};

/** Whether the record has the secret already; null when it has none at all. Compared by digest, whatever can be read back. */
const compared: Partial<Readonly<Record<KindName, (run: Run, row: Row, value: string) => boolean | null>>> = {
  client: (_run, row, value) => {
    const { secret_digest } = row as ClientRow;
    return secret_digest === null ? null : equalDigests(secret_digest, digest(value));
  },
  connection: (run, row, value) => {
    const { id, provider_client_secret_sealed: sealed } = row as ConnectionRow;
    return sealed === null ? null : equalDigests(digest(run.call.ctx.sealer.open(sealed, providerSecretPlace(id))), digest(value));
  },
  webhook: (run, row, value) => {
    const { id, secret_sealed } = row as WebhookRow;
    return equalDigests(digest(run.call.ctx.sealer.open(secret_sealed, webhookSecretPlace(id))), digest(value));
  },
};

/** Whether the record has the secret that documents refer to. */
export const hasSecret = ({ kind, row }: LiveRecord): boolean =>
  kind.type === 'client'
    ? row['secret_digest'] !== null
    : kind.type === 'connection'
      ? row['provider_client_secret_sealed'] !== null
      : true;

/**
 * What is to become of an item's secret: nothing (`undefined`), a new value, or null: it is taken away. `refused`: that was noted.
 */
export type SecretChange = { readonly value: string | null | undefined; readonly refused: boolean };

const unchanged: SecretChange = { value: undefined, refused: false };
const refusal: SecretChange = { value: undefined, refused: true };

/** Decides what becomes of the secret of an item; `found` null: its record is new. */
export function secretChange(run: Run, item: Item, found: LiveRecord | null): SecretChange {
  const { kind, secret } = item;
  if (secret === undefined || kind.secret === null) return unchanged;
  const path = [...item.path, kind.secret];
  if (secret === null) return { value: found && hasSecret(found) ? null : undefined, refused: false };
  const name = secretName(secret);
  const value = run.secrets.get(name);
  if (value === undefined) {
    if (!found || !hasSecret(found)) {
      note(run, path, 'secret_missing', `The document needs ${name}, and no value came with it.`);
      return refusal;
    }
    const detail = `${name} came without a value: the secret of ${kind.type} ${item.key} is left as it is.`;
    run.warnings.push({ code: 'secret_not_compared', detail, ...placeOf(path) });
    return unchanged;
  }
  const wrong = looked[kind.type]?.(value) ?? null;
  if (wrong !== null) {
    note(run, path, value.length < leastLength ? 'too_short' : 'invalid_format', wrong);
    return refusal;
  }
  const same = found ? (compared[kind.type]?.(run, found.row, value) ?? null) : null;
  return same === true ? unchanged : { value, refused: false };
}

/** Refuses the secret of a client that can have none. @throws {ApiError} 422 */
export function refuseSecretless(client: Pick<ClientRow, 'token_endpoint_auth_method'>): void {
  if (!isSecretless(client)) return;
  const detail = 'This client has no secret: it is public, or proves itself by a key.';
  throw refuse(422, 'public_client', detail, pointerTo('data', 'attributes', 'client_secret'));
}

/** How the change of a secret is shown. */
export const shownSecret = (had: boolean, value: string | null): readonly [string | null, string | null] => [
  had ? secretMark : null,
  value === null ? null : secretMark,
];
