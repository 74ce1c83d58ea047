import { newStamps } from '../../db/records.js';
import {
  deleteFederatedCredential,
  insertFederatedCredential,
  updateFederatedCredential,
  type ClaimCondition,
  type FederatedCredentialRow,
} from '../../db/tables/federated_credentials.js';
import type { ClientRow } from '../../db/tables/clients.js';
import type { TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { isFapi2 } from '../clients/profile.js';
import { isSelfRegistered } from '../clients/rules.js';
import type { Context } from '../context.js';
import { invalidValue, type Problem, Refusal, unfitRelationship } from '../refusal.js';

export type FederatedCredentialInput = { audience?: string; claims?: Readonly<Record<string, ClaimCondition>> };

const textsOf = (condition: ClaimCondition): readonly string[] =>
  typeof condition === 'string' ? [condition] : 'prefix' in condition ? [condition.prefix] : condition;

/** Conditions of which one says whose workload it is: without it everybody at the platform would be the client. */
const identifying = ['sub', 'repository_id'];

function conditionProblems(name: string, condition: ClaimCondition): Problem[] {
  const at = ['claims', name];
  if (textsOf(condition).some((text) => text.includes('*')))
    return [invalidValue(at, 'There are no wildcards: name each value, or a prefix that ends in ":" or "/".')];
  if (typeof condition === 'object' && 'prefix' in condition && !/[^:/][:/]$/.test(condition.prefix))
    return [invalidValue(at, 'A prefix ends in ":" or "/", with something before it: else it begins other names too.')];
  return [];
}

/** What every `sub` of a platform begins with: at Kubernetes and AWS several parts, at most others the first (`repo:`, `project_path:`). */
const genericPrefix = /^(?:system:serviceaccount:|arn:(?:[^:]*:){0,3}|[^:/]+[:/]+)/;

/** Whether a condition singles anybody out. */
const isNarrow = (condition: ClaimCondition): boolean =>
  typeof condition === 'string' || !('prefix' in condition) || condition.prefix.replace(genericPrefix, '') !== '';

export function credentialProblems({ claims }: FederatedCredentialInput): Problem[] {
  if (claims === undefined) return [];
  const found = Object.entries(claims).flatMap(([name, condition]) => conditionProblems(name, condition));
  const named = identifying.filter((name) => Object.hasOwn(claims, name));
  if (named.length === 0)
    return [
      ...found,
      invalidValue('claims', 'A condition on sub, or on repository_id, is compulsory: else everybody at the platform is this client.'),
    ];
  if (found.length > 0 || named.some((name) => isNarrow(claims[name] as ClaimCondition))) return found;
  return [
    invalidValue(
      ['claims', named[0] as string],
      'The prefix must name somebody at the platform, as "repo:octo-org/" does: all begin with the first part.',
    ),
  ];
}

/**
 * Lets tokens of the issuer that fit prove the client. The audience is this environment's issuer unless told otherwise.
 * @throws {Refusal} 422 for a public or self-registered client, and for one whose profile takes its own keys only
 */
export async function createFederatedCredential(
  tx: Context,
  input: FederatedCredentialInput & { claims: Readonly<Record<string, ClaimCondition>> },
  client: ClientRow,
  issuer: TrustedIssuerRow,
): Promise<FederatedCredentialRow> {
  if (client.token_endpoint_auth_method !== 'private_key_jwt')
    throw new Refusal(
      unfitRelationship(
        'client',
        'auth_method_not_allowed',
        'Only a client that authenticates by private_key_jwt has federated credentials.',
      ),
    );
  if (isFapi2(client))
    throw new Refusal(unfitRelationship('client', 'profile_rule_unmet', 'FAPI 2.0: a client proves itself with keys of its own.'));
  if (isSelfRegistered(client))
    throw new Refusal(
      unfitRelationship('client', 'self_registered_client', 'A client that registered itself has the keys that it registered.'),
    );
  return insertFederatedCredential(tx.scope, {
    audience: tx.environment.issuer,
    ...input,
    client_id: client.id,
    trusted_issuer_id: issuer.id,
    ...newStamps(tx.clock.now()),
  });
}

/** Changes what the tokens have to say. @throws {Refusal} 404 */
export async function changeFederatedCredential(
  tx: Context,
  row: FederatedCredentialRow,
  input: FederatedCredentialInput,
): Promise<FederatedCredentialRow> {
  const changed = await updateFederatedCredential(tx.scope, row.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such federated credential.' });
  return changed;
}

/** The tokens prove the client no longer. */
export async function removeFederatedCredential(tx: Context, row: FederatedCredentialRow): Promise<void> {
  await deleteFederatedCredential(tx.scope, row.id);
}
