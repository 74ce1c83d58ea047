// oidc-provider as a careful operator would run it on PostgreSQL: one JSONB table, named statements, static clients (its best case).
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider, type Adapter, type AdapterPayload, type Configuration, type JWK } from 'oidc-provider';
import pg from 'pg';
import { fixtures } from './target.js';

const port = Number(process.env['PORT']);
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 });

await pool.query(`create table models (
    model text not null, id text not null, payload jsonb not null, grant_id text, user_code text, uid text, expires_at timestamptz,
    primary key (model, id));
  create index on models (grant_id) where grant_id is not null;
  create index on models (uid) where uid is not null`);

type Row = { payload: AdapterPayload };
const one = async (name: string, text: string, values: unknown[]) => (await pool.query<Row>({ name, text, values })).rows[0]?.payload;

class PostgresAdapter implements Adapter {
  constructor(readonly model: string) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    await one(
      'upsert',
      `insert into models (model, id, payload, grant_id, user_code, uid, expires_at)
       values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
       on conflict (model, id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      [this.model, id, JSON.stringify(payload), payload.grantId, payload.userCode, payload.uid, expiresIn ?? null],
    );
  }

  find = (id: string) =>
    one('find', 'select payload from models where model = $1 and id = $2 and (expires_at is null or expires_at > now())', [this.model, id]);

  findByUid = (uid: string) => one('find_by_uid', 'select payload from models where model = $1 and uid = $2', [this.model, uid]);

  findByUserCode = (code: string) =>
    one('find_by_user_code', 'select payload from models where model = $1 and user_code = $2', [this.model, code]);

  async consume(id: string): Promise<void> {
    await one(
      'consume',
      `update models set payload = payload || jsonb_build_object('consumed', floor(extract(epoch from now()))) where model = $1 and id = $2`,
      [this.model, id],
    );
  }

  async destroy(id: string): Promise<void> {
    await one('destroy', 'delete from models where model = $1 and id = $2', [this.model, id]);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await one('revoke_by_grant', 'delete from models where grant_id = $1', [grantId]);
  }
}

const jwk = (key: KeyObject, alg: string): JWK => ({ ...(key.export({ format: 'jwk' }) as JWK), use: 'sig', alg, kid: alg });
const keys = [
  jwk(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'RS256'),
  jwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'ES256'),
  jwk(generateKeyPairSync('ed25519').privateKey, 'EdDSA'),
];
const { resources } = fixtures;
/** What the JWTs for a resource are signed with. */
const algorithms: Record<string, 'RS256' | 'ES256' | 'EdDSA'> = {
  [resources.jwt]: 'RS256',
  [resources.ES256]: 'ES256',
  [resources.EdDSA]: 'EdDSA',
};
const common = { redirect_uris: [fixtures.redirect_uri], response_types: ['code' as const] };

const configuration: Configuration = {
  adapter: PostgresAdapter,
  jwks: { keys },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  clients: [
    {
      ...common,
      client_id: fixtures.client.id,
      client_secret: fixtures.client.secret,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    },
    {
      ...common,
      client_id: fixtures.publicClient.id,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    { ...common, client_id: fixtures.othersClient.id, token_endpoint_auth_method: 'none', grant_types: ['authorization_code'] },
  ],
  claims: { openid: ['sub'], profile: ['name', 'given_name', 'family_name'], email: ['email', 'email_verified'] },
  features: {
    // Its own pages, which take any password for the right one: nothing is hashed.
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined as never,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'read write',
        accessTokenTTL: 3600,
        ...(algorithms[resource]
          ? { accessTokenFormat: 'jwt', jwt: { sign: { alg: algorithms[resource] } } }
          : { accessTokenFormat: 'opaque' }),
      }),
    },
  },
  // Nobody is asked about the operator's own application.
  loadExistingGrant: async (ctx) => {
    const { client, session, account, result, provider: own } = ctx.oidc;
    const id = result?.consent?.grantId ?? (client && session?.grantIdFor(client.clientId));
    if (id !== undefined) return own.Grant.find(id);
    if (client?.clientId !== fixtures.client.id || !account) return undefined;
    const grant = new own.Grant({ accountId: account.accountId, clientId: client.clientId });
    grant.addOIDCScope('openid profile email');
    await grant.save();
    return grant;
  },
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, IdToken: 3600, RefreshToken: 1_209_600, Session: 1_209_600, Grant: 1_209_600, ClientCredentials: 3600 },
  findAccount: (_ctx, sub) => ({
    accountId: sub,
    claims: () => ({
      sub,
      name: 'Grace Hopper',
      given_name: 'Grace',
      family_name: 'Hopper',
      email: 'bench@example.com',
      email_verified: true,
    }),
  }),
};

const provider = new Provider(`http://localhost:${port}`, configuration);

/** What a finished sign-in with consent leaves behind, for both clients. */
async function signIn(): Promise<string> {
  const session = new provider.Session();
  session.loginAccount({ accountId: 'bench-user', transient: false });
  for (const clientId of [fixtures.client.id, fixtures.publicClient.id, fixtures.othersClient.id]) {
    const grant = new provider.Grant({ accountId: 'bench-user', clientId });
    grant.addOIDCScope('openid profile email');
    session.ensureClientContainer(clientId);
    session.grantIdFor(clientId, await grant.save());
  }
  await session.save(1_209_600);
  return `_session=${session.jti}`;
}

const handle = provider.callback();
createServer((req, res) => {
  if (req.url !== '/bench-session') return void handle(req, res);
  signIn().then(
    (cookie) => res.end(cookie),
    (error: unknown) => res.writeHead(500).end(String(error)),
  );
}).listen(port, '127.0.0.1');
