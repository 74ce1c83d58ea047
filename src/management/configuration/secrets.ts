import type { ClientRow } from '../../db/tables/clients.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { isSecretless } from '../../domain/clients/registration.js';
import { providerSecretAad } from '../../domain/connections/connections.js';
import { leadsSecretElsewhere, leadsSignalsTokenElsewhere } from '../../domain/connections/secret-receivers.js';
import { leadsElsewhere, logStreamAad } from '../../domain/log-streams/log-streams.js';
import { isSigningSecret, webhookSecretAad } from '../../domain/webhooks/secrets.js';
import { digest, equalDigests } from '../../lib/digest.js';
import type { Aad, Sealer } from '../../lib/seal.js';
import { pointerTo, refuse } from '../problems.js';
import { permissionFor, type ResourceRow } from '../resource.js';
import type { SecretReference } from './document.js';
import type { KindName } from './kinds.js';
import type { LiveRecord } from './live.js';
import type { Item } from './items.js';
import { note, documentPointer, secretMark, type Run } from './run.js';

export const secretName = (reference: SecretReference): string => ('env' in reference ? `env:${reference.env}` : `file:${reference.file}`);

/** Shorter ones can be guessed. */
const leastLength = 32;

/** A secret of a kind of record: which column has it, what it may be, and the digest of the one that is stored. */
type Stored = {
  readonly column: string;
  readonly wrong: (value: string) => string | null;
  readonly digest: (sealer: Sealer, row: ResourceRow) => Buffer;
};

const clientSecret = (value: string) =>
  value.length < leastLength || value.length > 512 || !/^[\x21-\x7e]+$/.test(value)
    ? `The secret of a client has ${leastLength} to 512 visible ASCII characters.`
    : null;
const signingSecret = (value: string) => (isSigningSecret(value) ? null : 'A signing secret is whsec_ and base64 of 24 to 64 bytes.');
// The operations say themselves what else is wrong.
const anything = (value: string) => (value.length > 8192 ? 'A secret has at most 8192 characters.' : null);

const opened = (sealer: Sealer, row: ResourceRow, column: string, aadFor: (id: string) => Aad) =>
  digest(sealer.open(row[column] as Buffer, aadFor(String(row['id']))));

const sealedIn = (column: string, aadFor: (id: string) => Aad, wrong: Stored['wrong']): Stored => ({
  column,
  wrong,
  digest: (sealer, row) => opened(sealer, row, column, aadFor),
});

/** All secrets, by kind and attribute. Compared by digest, whatever can be read back. */
const stored: ReadonlyMap<string, Stored> = new Map([
  [
    'client client_secret',
    { column: 'secret_digest', wrong: clientSecret, digest: (_sealer, row) => (row as ClientRow).secret_digest as Buffer },
  ],
  ['connection provider_client_secret', sealedIn('provider_client_secret_sealed', providerSecretAad, anything)],
  ['connection signals_token', sealedIn('signals_token_sealed', providerSecretAad, anything)],
  ['webhook signing_secret', sealedIn('secret_sealed', webhookSecretAad, signingSecret)],
  ['log_stream signing_secret', sealedIn('secret_sealed', logStreamAad, signingSecret)],
  ['log_stream authorization', sealedIn('authorization_sealed', logStreamAad, anything)],
]);

/** @throws for what is no secret of the kind */
function storedOf(type: KindName, name: string): Stored {
  const found = stored.get(`${type} ${name}`);
  if (!found) throw new Error(`${name} is no secret of a ${type}`);
  return found;
}

export const hasSecret = ({ kind, row }: LiveRecord, name: string): boolean => (row[storedOf(kind.type, name).column] ?? null) !== null;

/** What becomes of an item's secrets, those that change alone; null: it is taken away. */
export type SecretChanges = ReadonlyMap<string, string | null>;

/** Whether the secret is to go to another receiver, which is given it anew. */
function isForAnother({ kind, attributes }: Item, name: string, { row }: LiveRecord): boolean {
  switch (`${kind.type} ${name}`) {
    case 'log_stream authorization':
      return typeof attributes['url'] === 'string' && leadsElsewhere(attributes['url'], String(row['url']));
    case 'connection provider_client_secret':
      return leadsSecretElsewhere(row as ConnectionRow, { ...row, ...attributes } as ConnectionRow);
    case 'connection signals_token':
      return leadsSignalsTokenElsewhere(row as ConnectionRow, { ...row, ...attributes } as ConnectionRow);
    default:
      return false;
  }
}

/** The value of a reference that the record hasn't got already; undefined: nothing changes. @returns null when it was refused, which is noted */
function valueFor(run: Run, item: Item, name: string, reference: SecretReference, found: LiveRecord | null): string | undefined | null {
  const { kind } = item;
  const { wrong, digest: digestOf } = storedOf(kind.type, name);
  const [path, source] = [[...item.path, name], secretName(reference)];
  const value = run.secrets.get(source);
  const has = found !== null && hasSecret(found, name);
  const uncompared = (detail: string): undefined =>
    void run.warnings.push({ code: 'secret_not_compared', detail, ...documentPointer(path) });
  if (value === undefined) {
    if (!has) {
      note(run, path, 'secret_missing', `The document needs ${source}, and no value came with it.`);
      return null;
    }
    return uncompared(`${source} came without a value: ${name} of ${kind.type} ${item.key} is left as it is.`);
  }
  const problem = wrong(value);
  if (problem !== null) {
    note(run, path, value.length < leastLength ? 'too_short' : 'invalid_format', problem);
    return null;
  }
  if (!has) return value;
  // Whoever may not set a secret learns nothing of it by guessing.
  const needed = permissionFor(kind.resource, 'write');
  if (!run.call.actor.permissions.has(needed))
    return uncompared(`${name} of ${kind.type} ${item.key} is not compared with ${source}: that takes ${needed}.`);
  const same = equalDigests(digestOf(run.call.ctx.crypto.sealer, found.row), digest(value));
  return same && !isForAnother(item, name, found) ? undefined : value;
}

/** Decides what becomes of the secrets of an item; `found` null: its record is new. @returns null when one was refused, which is noted */
export function secretChanges(run: Run, item: Item, found: LiveRecord | null): SecretChanges | null {
  const changes = new Map<string, string | null>();
  let refused = false;
  for (const [name, reference] of Object.entries(item.secrets)) {
    if (reference === null) {
      if (found && hasSecret(found, name)) changes.set(name, null);
      continue;
    }
    const value = valueFor(run, item, name, reference, found);
    if (value === null) refused = true;
    else if (value !== undefined) changes.set(name, value);
  }
  return refused ? null : changes;
}

/** Refuses the secret of a client that can have none. @throws {ApiError} 422 */
export function refuseSecretless(client: Pick<ClientRow, 'token_endpoint_auth_method'>): void {
  if (!isSecretless(client)) return;
  const detail = 'This client has no secret: it is public, or proves itself by a key.';
  throw refuse(422, 'public_client', detail, pointerTo('data', 'attributes', 'client_secret'));
}

export const shownSecret = (had: boolean, value: string | null): readonly [string | null, string | null] => [
  had ? secretMark : null,
  value === null ? null : secretMark,
];
