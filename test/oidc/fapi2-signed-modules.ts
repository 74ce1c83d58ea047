import { expect } from 'vitest';
import { createClientKey, unsignedJwt } from '../support/signed-jwt.js';
import { errorOf, type Fapi2Module } from './fapi2-checks.js';
import type { Fapi2Run } from './fapi2-run.js';

/** Pushes an object with these claims in its envelope, and says whether it has to be taken. */
const object =
  (claims: (run: Fapi2Run) => Record<string, unknown>, taken = false): Fapi2Module =>
  async (run) => {
    const request = await run.bank.key.sign({ ...run.bank.request().fields, ...run.envelope(run.bank, claims(run)) });
    expect(errorOf(await run.bank.push({ request }))).toEqual(taken ? [201, undefined] : [400, 'invalid_request_object']);
  };

/** Pushes the object that `make` signs, which is to be refused. */
const forged =
  (make: (claims: Record<string, unknown>) => Promise<string>): Fapi2Module =>
  async (run) => {
    const request = await make({ ...run.bank.request().fields, ...run.envelope(run.bank) });
    expect(errorOf(await run.bank.push({ request }))).toEqual([400, 'invalid_request_object']);
  };

const rs256Object: Fapi2Module = async (run) => {
  const rsa = await createClientKey('RS256');
  const { alg: _alg, ...free } = rsa.jwk;
  const own = await run.client({ jwks: { keys: [run.bank.key.jwk, free] } });
  const request = await rsa.sign({ ...own.request().fields, ...run.envelope(own) });
  const assertion = await run.bank.key.sign(own.claims());
  expect(errorOf(await own.push({ request }, { proof: null, assertion }))).toEqual([400, 'invalid_request_object']);
};

/** In the plan of Message Signing alone: they need a signed request object. */
export const signedRequestModules: Readonly<Record<string, Fapi2Module>> = {
  'ensure-request-object-with-multiple-aud-succeeds': object(({ service }) => ({ aud: ['https://other.example', service.url] }), true),
  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted': object(({ bank }) => ({ nbf: bank.now + 8 }), true),
  'ensure-request-object-without-exp-fails': object(() => ({ exp: undefined })),
  'ensure-request-object-without-nbf-fails': object(() => ({ nbf: undefined })),
  'ensure-expired-request-object-fails': object(({ bank }) => ({ nbf: bank.now - 360, exp: bank.now - 300 })),
  'ensure-request-object-with-bad-aud-fails': object(() => ({ aud: 'https://other.example' })),
  'ensure-request-object-with-exp-over-60-fails': object(({ bank }) => ({ exp: bank.now + 70 * 60 })),
  'ensure-request-object-with-nbf-over-60-fails': object(({ bank }) => ({ nbf: bank.now - 70 * 60 })),
  'ensure-signed-request-object-with-RS256-fails': rs256Object,
  'ensure-request-object-signature-algorithm-is-not-none': forged(async (claims) => unsignedJwt(claims)),
  async 'ensure-request-object-with-invalid-signature-fails'(run) {
    await forged(async (claims) => {
      const [header, payload, signature = ''] = (await run.bank.key.sign(claims)).split('.');
      return `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    })(run);
  },
  async 'ensure-matching-key-in-authorization-request'(run) {
    await forged((claims) => run.other.key.sign(claims))(run);
  },
  async 'ensure-unsigned-request-at-par-endpoint-fails'(run) {
    expect(errorOf(await run.bank.push(run.bank.request().fields))).toEqual([400, 'invalid_request']);
  },
  'par-authorization-request-containing-request_uri': object(() => ({ request_uri: 'urn:ietf:params:oauth:request_uri:x' })),
};
