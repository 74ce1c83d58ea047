import { expect } from 'vitest';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { claimsOf, type TokenAnswer } from '../support/oauth.js';
import type { Fapi2Run } from './fapi2-run.js';

/** What one module of the FAPI 2.0 plans does and demands. */
export type Fapi2Module = (run: Fapi2Run) => Promise<void>;

export const errorOf = ({ status, body }: TokenAnswer) => [status, body.error];
export const invalidClient = [401, 'invalid_client'];
export const long = 'x'.repeat(384);
export const isError = (answer: TokenAnswer, ...codes: string[]) => {
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(codes).toContain(answer.body.error);
};
export const nonceOf = (body: TokenAnswer['body']) => claimsOf(body.id_token as string)['nonce'];
export const anotherKey = (run: Fapi2Run) => createProofKey('ES256', () => run.service.clock.now().getTime());
export const proofAt = (run: Fapi2Run, path: string, key: ProofKey, ...rest: [Record<string, unknown>?, Record<string, unknown>?]) =>
  key.proof({ htu: run.service.url + path }, ...rest);
