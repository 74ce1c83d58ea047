import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:net';
import { SignJWT, type JWTPayload } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { keyRing, signerFor, type Signer } from '../../src/domain/signing-keys/signing-keys.js';
import { uuidv7 } from '../../src/lib/random.js';
import { addClient, addUser } from '../support/data.js';
import { authorizeCode, oauthPost, redeem } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { processorMs } from '../support/processor-time.js';

const service = sharedService();
let good: string;
let signer: Signer;

const ctx = contextOf(service);
const client = shared(() => addClient(ctx, { access_token_format: 'jwt' }));
const user = shared(() => addUser(ctx));

beforeAll(async () => {
  const browser = await signedIn(service, user);
  good = (await redeem(service.url, client, await authorizeCode(browser, client))).body.access_token;
  signer = await signerFor(ctx, 'RS256');
});

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(service.clock.now().getTime() / 1000);
const claims = (changes: Record<string, unknown> = {}): JWTPayload =>
  ({
    iss: service.url,
    sub: user.id,
    aud: service.url,
    client_id: client.id,
    scope: 'openid',
    jti: uuidv7(Date.now()),
    iat: now(),
    nbf: now(),
    exp: now() + 60,
    ...changes,
  }) as JWTPayload;
const withKey = (header: Record<string, unknown>, payload: object, key = signer.privateKey) => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
};
const header = (changes: Record<string, unknown> = {}) => ({ alg: 'RS256', typ: 'at+jwt', kid: signer.kid, ...changes });

/** Refused by userinfo with a Bearer challenge, and by introspection with exactly {"active":false}. */
async function expectRefused(token: string): Promise<void> {
  const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  expect(userinfo.status).toBe(401);
  expect(userinfo.headers.get('www-authenticate')).toMatch(/^Bearer /);
  const introspection = await oauthPost(service.url, '/oauth/introspect', client, { token });
  if (token.length < 60_000) expect(introspection.body).toEqual({ active: false });
}

test('the control: our own signature over the same claims is accepted by both', async () => {
  for (const token of [good, withKey(header(), claims())]) {
    expect((await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    expect((await oauthPost(service.url, '/oauth/introspect', client, { token })).body['active']).toBe(true);
  }
});

describe('forgeries', () => {
  test.each(['none', 'None', 'nOnE', 'HS256'])('alg %s, an empty signature and a stripped one are refused (attack 8.97)', async (alg) => {
    await expectRefused(`${encode(header({ alg }))}.${encode(claims())}.`);
    await expectRefused(`${encode(header({ alg }))}.${encode(claims())}`);
    await expectRefused(good.split('.').slice(0, 2).join('.'));
    const hmac = createHmac('sha256', (await keyRing(ctx)).jwks)
      .update(`${encode(header({ alg }))}.${encode(claims())}`)
      .digest('base64url');
    await expectRefused(`${encode(header({ alg }))}.${encode(claims())}.${hmac}`);
  });

  test("the attacker's own key in jwk or x5c is not believed (attack 8.99)", async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = publicKey.export({ format: 'jwk' });
    await expectRefused(withKey(header({ jwk }), claims(), privateKey));
    await expectRefused(withKey(header({ jwk, kid: 'mine' }), claims(), privateKey));
    await expectRefused(withKey(header({ x5c: ['MIIB'] }), claims(), privateKey));
    await expectRefused(withKey(header({ jwk }), claims()));
  });

  test('jku and x5u are refused and never fetched (attack 8.100)', async () => {
    let hits = 0;
    const canary = createServer(() => (hits += 1));
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
    const { port } = canary.address() as { port: number };
    for (const name of ['jku', 'x5u']) await expectRefused(withKey(header({ [name]: `http://127.0.0.1:${port}/keys` }), claims()));
    canary.close();
    expect(hits).toBe(0);
  });

  test('an unknown crit, b64, the JSON serialization and a JWE are refused (attack 8.102)', async () => {
    await expectRefused(withKey(header({ crit: ['unknown'], unknown: 1 }), claims()));
    await expectRefused(withKey(header({ b64: false, crit: ['b64'] }), claims()));
    const [protectedHeader, payload, signature] = good.split('.');
    await expectRefused(
      Buffer.from(JSON.stringify({ payload, signatures: [{ protected: protectedHeader, signature }] })).toString('base64'),
    );
    await expectRefused(`${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`);
  });

  test.each([
    ['exp a second past', () => ({ exp: now() - 1 })],
    ['exp missing', () => ({ exp: undefined })],
    ['exp a string', () => ({ exp: String(now() + 60) })],
    ['exp a float', () => ({ exp: now() + 60.5 })],
    ['exp 1e308', () => ({ exp: 1e308 })],
    ['nbf in the future', () => ({ nbf: now() + 60 })],
    ['iat in the future', () => ({ iat: now() + 60 })],
  ])('a token is refused with %s (attack 8.103)', async (_name, changes) => expectRefused(withKey(header(), claims(changes()))));

  test.each([
    ['missing', undefined],
    ['of another resource server', 'https://api.example/other'],
    ['an array without ours', ['https://a.example', 'https://b.example']],
    ['in other case', 'HTTP://LOCALHOST'],
    ['with a suffix', 'SUFFIX'],
  ])('a token is refused whose aud is %s (attack 8.105)', async (_name, aud) => {
    const token = withKey(header(), claims({ aud: aud === 'SUFFIX' ? `${service.url}/` : aud }));
    const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    expect(userinfo.status).toBe(401);
  });

  test.each([
    ['id token', 'JWT'],
    ['logout token', 'logout+jwt'],
    ['none', undefined],
    ['plain', 'jwt'],
  ])('a token with the typ of %s is refused (attack 8.106)', async (_name, typ) => expectRefused(withKey(header({ typ }), claims())));

  test('a real ID token is no access token (attack 8.106)', async () => {
    const token = await new SignJWT(claims({ aud: client.id }))
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: signer.kid })
      .sign(signer.privateKey);
    await expectRefused(token);
  });

  test('dots without end, huge headers, duplicate claims are refused quickly (attack 8.108)', async () => {
    const monsters = [
      '.'.repeat(10_000),
      `${encode({ ...header(), pad: 'x'.repeat(12_000) })}.e30.x`,
      withKey(header({ zip: 'DEF' }), claims()),
      withKey(header({ p2c: 1e9 }), claims()),
    ];
    const ms = await processorMs(async () => {
      for (const token of monsters) {
        const response = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
        expect(response.status).toBe(401);
      }
      const big = await oauthPost(service.url, '/oauth/introspect', client, { token: '.'.repeat(60_000) });
      expect(big.body).toEqual({ active: false });
      expect((await oauthPost(service.url, '/oauth/introspect', client, { token: '.'.repeat(1_000_000) })).status).toBe(413);
    });
    expect(ms).toBeLessThan(5000);
  });

  test('another spelling of the same bytes gets one verdict everywhere (attack 8.109)', async () => {
    const [head = '', body = '', tail = ''] = good.split('.');
    const last = tail.slice(-1);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = alphabet.charAt(alphabet.indexOf(last) ^ 1);
    await expectRefused(`${head}.${body}.${tail.slice(0, -1)}${twin}`);
    await expectRefused(`${head}.${body}.${tail}==`);
    await expectRefused(`${head}=.${body}.${tail}`);
    const spaced = await oauthPost(service.url, '/oauth/introspect', client, { token: ` ${good}` });
    expect(spaced.body).toEqual({ active: false });
  });
});
