import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';

type Stored = {
  jti: string;
  client_id: string;
  scope: string;
  audience: string;
  lifetime: number;
  event_id: string;
  subscribers: readonly string[];
  grant_type: string;
  /** The DPoP proof that it was asked for with, if it has to be stored: with one that was used before nothing is. */
  proof: ProofUse | null;
};

const proofValues = (proof: ProofUse | null) => (proof === null ? [] : [proof.digest, proof.expires_at]);

/**
 * Stores an opaque token that no person stands behind (client credentials, JWT bearer), with its event if wanted.
 * @returns false when the proof was used before
 */
export async function insertClientAccessToken(
  scope: Scope,
  token: Stored & { digest: Buffer; issued_at: Date; jkt: string | null; authorization_details: readonly Detail[] | null },
): Promise<boolean> {
  const { lifetime, issued_at, subscribers, proof } = token;
  const expires_at = new Date(issued_at.getTime() + lifetime * 1000);
  const event = subscribers.length > 0;
  const rows = await run(scope, clientTokenStatements[event ? 'event' : 'plain'][proof ? 'proof' : 'bearer'], [
    token.digest, token.jti, token.client_id, token.scope, token.audience, issued_at, expires_at, token.jkt,
    token.authorization_details && JSON.stringify(token.authorization_details),
    ...(event ? [subscribers, token.event_id, lifetime, token.grant_type] : []), ...proofValues(proof),
  ]); // prettier-ignore
  return rows.length > 0;
}

function clientTokenStatement(name: string, event: boolean, proof: boolean): Statement {
  const proofAt = event ? 15 : 11;
  const stored = event
    ? `store_token_issued($1, $12::uuid, issued_at, $11::uuid[], $3::uuid, 'opaque', $14::text, client_id, null, null,
         scope, audience, $13::integer, false)`
    : '1 as one';
  return {
    name,
    // With a proof it is the proof's row that another statement may hold.
    short: { kind: 'write', key: proof ? proofAt : 2 },
    text: `with ${proof ? `proof as (${storeProofSql(`$${proofAt}`, `$${proofAt + 1}`)}),` : ''} access as (
             insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at, jkt,
               authorization_details)
             select $1::uuid, $2::bytea, $3::uuid, $4::text, $5::text, $6::text, $7::timestamptz, $8::timestamptz, $9::text, $10::jsonb
             ${proof ? 'from proof' : ''} returning *)
           select ${stored} from access`,
  };
}

const clientTokenStatements = {
  plain: {
    bearer: clientTokenStatement('access_tokens.insert_for_client', false, false),
    proof: clientTokenStatement('access_tokens.insert_for_client_with_proof', false, true),
  },
  event: {
    bearer: clientTokenStatement('access_tokens.insert_for_client_with_event', true, false),
    proof: clientTokenStatement('access_tokens.insert_for_client_with_event_and_proof', true, true),
  },
};

/** Stores the `token.issued` event of a JWT, which itself is stored nowhere. @returns false when the proof was used before */
export async function storeTokenIssued(scope: Scope, event: Stored & { at: Date; token_format: 'jwt' | 'opaque' }): Promise<boolean> {
  const rows = await run(scope, event.proof ? tokenIssuedWithProof : tokenIssued, [
    event.event_id, event.at, event.subscribers, event.jti, event.token_format, event.grant_type, event.client_id, event.scope, event.audience,
    event.lifetime, ...proofValues(event.proof),
  ]); // prettier-ignore
  return rows.length > 0;
}

const tokenIssuedText = `
  select store_token_issued($1, $2::uuid, $3::timestamptz, $4::uuid[], $5::uuid, $6, $7, $8, null, null, $9, $10, $11::integer, false)`;

const tokenIssued: Statement = { name: 'events.store_token_issued', short: { kind: 'write', key: 2 }, text: tokenIssuedText };

const tokenIssuedWithProof: Statement = {
  name: 'events.store_token_issued_with_proof',
  short: { kind: 'write', key: 12 },
  text: `with proof as (${storeProofSql('$12', '$13')}) ${tokenIssuedText} from proof`,
};
