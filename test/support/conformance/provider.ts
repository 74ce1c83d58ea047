import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { UserRow } from '../../../src/db/tables/users.js';
import { addUser } from '../data.js';
import { freePort, startTestService, type TestService } from '../service.js';
import { startTlsProxy } from '../tls-proxy.js';

/** How a plan is run: over which scheme, and how answers travel. */
export type Variant = { readonly scheme: 'http' | 'https'; readonly response_mode: 'default' | 'form_post' };

/** The provider under certification: a listening service, and a user who has every standard claim. */
export type Provider = {
  readonly service: TestService;
  readonly origin: string;
  readonly fetch: typeof fetch;
  readonly user: UserRow;
  readonly signingKey: { privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']; jwk: JWK };
  stop(): Promise<void>;
};

const everyClaim: Partial<UserRow> = {
  email: 'ada@example.com',
  email_verified: true,
  first_name: 'Ada',
  last_name: 'Lovelace',
  middle_name: 'Augusta',
  nickname: 'Countess',
  preferred_username: 'ada',
  profile: 'https://people.example/ada',
  picture: 'https://people.example/ada.png',
  website: 'https://ada.example',
  gender: 'female',
  birthdate: '1815-12-10',
  zoneinfo: 'Europe/London',
  locale: 'en-GB',
  phone_number: '+442012345678',
  phone_number_verified: true,
  address: { street_address: "12 St James's Square", locality: 'London', postal_code: 'SW1Y 4JH', country: 'United Kingdom' },
};

/** Starts a service with dynamic registration switched on; over https a proxy with a certificate of its own stands in front. */
export async function startProvider(scheme: 'http' | 'https', environment: Record<string, string> = {}): Promise<Provider> {
  const port = await freePort();
  const service = await startTestService({ ...(scheme === 'https' ? { BASE_URL: `https://localhost:${port}` } : {}), ...environment });
  const proxy = scheme === 'https' ? await startTlsProxy(port, service.config.port) : null;
  const ctx = await service.context();
  await service.deps.db.knex('environments').where({ id: ctx.environment.id }).update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    service,
    origin: service.url,
    fetch: proxy?.fetch ?? fetch,
    user: await addUser(ctx, everyClaim),
    signingKey: { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'rp-key', use: 'sig', alg: 'RS256' } },
    async stop() {
      await proxy?.close();
      await service.stop();
    },
  };
}
