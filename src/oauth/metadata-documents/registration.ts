import { isDeepStrictEqual } from 'node:util';
import { documentAddressProblem, readingOf } from '../../domain/clients/document-clients.js';
import { chosenIdProblems } from '../../domain/clients/names.js';
import type { ClientInput, OwnedClientInput } from '../../domain/clients/rules.js';
import type { Context } from '../../domain/context.js';
import { emitClientRegistered } from '../../domain/events/clients.js';
import { invalidValue, type Problem, Refusal, refuseIfAny, unfit } from '../../domain/refusal.js';
import { insertClientIfMissing, type ClientRow } from '../../db/tables/clients.js';
import { forgetDeletedName } from '../../db/tables/deleted_names.js';
import type { ApiErrorCode } from '../../lib/error-codes.js';
import { documentColumns, documentRow } from './document-row.js';

/** What an administrator may say of a client whose document says the rest. */
const administrated = [
  'description', 'access_token_format', 'id_token_lifetime', 'refresh_token_lifetime', 'token_rate_limit', 'id_token_claims', 'claim_mappings',
  'required_acr', 'max_authentication_age', 'status', 'branding', 'is_agent',
] as const satisfies readonly (keyof ClientInput)[]; // prettier-ignore

const attribute = 'client_id_metadata_uri';
const refusal = (code: ApiErrorCode, detail: string): Problem => unfit(attribute, code, detail);

const administratedNames: ReadonlySet<string> = new Set(administrated);

/** What of the input is the document's to say, and differs from what the row says; of a new client everything that is given. */
export function documentProblems(input: ClientInput, row: ClientRow | null): Problem[] {
  const stored = new Map<string, unknown>(Object.entries(row ?? {}));
  return Object.entries(input)
    .filter(([name, value]) => value !== undefined && !administratedNames.has(name) && !isDeepStrictEqual(value, stored.get(name)))
    .map(([name]) => invalidValue(name, 'The metadata document of the client says this.'));
}

/** What is wrong with the address of a document that is to be registered. */
export function addressProblems(ctx: Pick<Context, 'config' | 'environment'>, url: string): Problem[] {
  const problem = documentAddressProblem(ctx, url);
  return problem === null ? [] : [refusal('invalid_url', `The address ${problem}.`)];
}

/** Reads the document of a client that is to be registered, before the transaction. @throws {Refusal} 422 with the reason, when there is no good one */
export async function readForRegistration(ctx: Context, url: string): Promise<ClientRow> {
  const document = await ctx.net.metadataDocuments.read(url, true);
  const unidentified = (reason: string) => new Refusal(refusal('invalid_value', `The client can not be identified: ${reason}.`));
  if ('failed' in document) throw unidentified(document.reason);
  const described = documentColumns(ctx, document);
  if ('reason' in described) throw unidentified(described.reason);
  return { ...documentRow(ctx, document, described.columns), ...readingOf(document) };
}

/**
 * Registers the client of a metadata document before it comes, which verifies it. Emits `client.registered`.
 * @throws {Refusal} 409 when it is there already
 */
export async function registerDocumentClient(tx: Context, row: ClientRow, input: OwnedClientInput): Promise<ClientRow> {
  const now = tx.clock.now();
  // An administrator who registers it lets it in again; what it held before it was deleted stays ended.
  const tokens_not_before = (await forgetDeletedName(tx.scope, 'client', row.id)) ? now : null;
  refuseIfAny((await chosenIdProblems(tx, row.id)).map((problem) => ({ ...problem, attribute })));
  const given = Object.fromEntries(
    administrated.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  ) as ClientInput;
  const stamped = { verified: true, verified_by_host: false, version: 1, tokens_not_before, created_at: now, updated_at: now };
  const stored = await insertClientIfMissing(tx.scope, { ...row, ...given, owner_id: input.owner_id ?? null, ...stamped });
  if (!stored) throw new Refusal({ status: 409, code: 'already_exists', detail: 'There is a client of this document already.', attribute });
  await emitClientRegistered(tx, stored);
  return stored;
}
