// A transmitter of signals as the OpenID Foundation's plans for receivers have one (SSF 1.0): one stream, at an issuer with a path.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

type Json = Record<string, unknown>;
type Kept = Json & { stream_id: string; delivery: { method: string; endpoint_url?: string } };

export const ssfEvent = (name: string) => `https://schemas.openid.net/secevent/ssf/event-type/${name}`;

export class Transmitter {
  /** The stream that it has; null: none. */
  stream: Kept | null = null;
  /** What was asked with the token: method and path. */
  readonly asked: string[] = [];
  /** What waits to be polled, by `jti`; what was acknowledged, what was refused. */
  readonly waiting: Record<string, string> = {};
  readonly acked: string[] = [];
  readonly errors: Record<string, { err: string }> = {};
  /** The `state` of the last verification that was asked for. */
  state: string | undefined;
  /** Instead of what is right in what it answers to a creation. */
  created: Json = {};
  /** Statuses that it answers with instead, by method and path. */
  readonly failing = new Map<string, number>();
  token = 'token of the suite';
  /** Of its token endpoint. */
  authMethod = 'client_secret_basic';
  lifetime = 20;
  readonly audience = 'https://receiver.example/suite';
  #keys!: { privateKey: CryptoKey; jwk: JWK };
  #server!: Server;

  async start(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    this.#keys = { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'suite', alg: 'RS256', use: 'sig' } };
    this.#server = createServer((req, res) => void this.#handle(req, res));
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  close = (): Promise<void> => new Promise((resolve) => void this.#server.close(() => resolve()));

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get issuer(): string {
    return `${this.origin}/test/a/suite`;
  }

  reset(): void {
    this.stream = null;
    this.state = undefined;
    this.created = {};
    this.token = 'token of the suite';
    this.authMethod = 'client_secret_basic';
    this.lifetime = 20;
    this.asked.length = 0;
    this.acked.length = 0;
    this.failing.clear();
    for (const jti of Object.keys(this.waiting)) delete this.waiting[jti];
    for (const jti of Object.keys(this.errors)) delete this.errors[jti];
  }

  /** A token of the stream; a key is not its own. */
  async set(event: string, members: Json, sub_id: Json, claims: Json = {}, key?: CryptoKey): Promise<{ jti: string; jwt: string }> {
    const jti = randomUUID();
    const content = { iss: this.issuer, aud: this.audience, iat: Math.floor(Date.now() / 1000), jti, txn: randomUUID(), sub_id };
    const jwt = await new SignJWT({ ...content, events: { [event]: members }, ...claims })
      .setProtectedHeader({ alg: 'RS256', typ: 'secevent+jwt', kid: key ? 'unknown' : 'suite' })
      .sign(key ?? this.#keys.privateKey);
    return { jti, jwt };
  }

  verification = (members: Json, id = this.stream?.stream_id) => this.set(ssfEvent('verification'), members, { format: 'opaque', id });

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(req.url ?? '', this.origin);
    const text = Buffer.concat(chunks).toString();
    const path = pathname.replace('/test/a/suite', '');
    const [status, answer] =
      path === '/token'
        ? this.#give(req, new URLSearchParams(text))
        : this.#answer(req, path, searchParams.get('stream_id'), text === '' ? {} : (JSON.parse(text) as Json));
    res.writeHead(status, answer === undefined ? {} : { 'content-type': 'application/json' });
    res.end(answer === undefined ? '' : JSON.stringify(answer));
  }

  #answer(req: IncomingMessage, path: string, id: string | null, body: Json): [number, unknown?] {
    if (path === '/.well-known/ssf-configuration') return [200, this.#metadata()];
    if (path === '/.well-known/oauth-authorization-server') return [200, this.#server_metadata()];
    if (path === '/jwks') return [200, { keys: [this.#keys.jwk] }];
    const what = `${req.method ?? ''} ${path}`;
    this.asked.push(what);
    if (req.headers.authorization !== `Bearer ${this.token}`) return [401, { error: 'unauthorized' }];
    const instead = this.failing.get(what);
    if (instead !== undefined) return [instead];
    if (what === 'POST /streams') return this.#create(body);
    if (what === 'GET /streams' && id === null) return [200, this.stream ? [this.stream] : []];
    const named = id ?? body['stream_id'];
    if (!this.stream || named !== this.stream.stream_id) return [404];
    if (what === 'POST /verify') this.state = body['state'] as string | undefined;
    if (what === 'DELETE /streams') this.stream = null;
    if (what === 'POST /events') return [200, this.#poll(body)];
    return what === 'GET /streams' ? [200, this.stream] : what === 'GET /status' ? [200, { stream_id: named, status: 'enabled' }] : [204];
  }

  #metadata(): Json {
    const at = (path: string) => this.issuer + path;
    return {
      issuer: this.issuer,
      spec_version: '1_0',
      jwks_uri: at('/jwks'),
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
      configuration_endpoint: at('/streams'),
      status_endpoint: at('/status'),
      verification_endpoint: at('/verify'),
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    };
  }

  #server_metadata(): Json {
    return {
      issuer: this.issuer,
      token_endpoint: `${this.issuer}/token`,
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: [this.authMethod],
      response_types_supported: [],
    };
  }

  /** A token that ends soon, by client credentials: the ones before are good no more. */
  #give(req: IncomingMessage, form: URLSearchParams): [number, unknown?] {
    this.asked.push('POST /token');
    const basic = `Basic ${Buffer.from('suite-client:suite+secret').toString('base64')}`;
    const isClient =
      this.authMethod === 'client_secret_basic'
        ? req.headers.authorization === basic
        : form.get('client_id') === 'suite-client' && form.get('client_secret') === 'suite secret';
    const asked = [form.get('grant_type'), form.get('scope')];
    if (!isClient || asked.join() !== 'client_credentials,ssf.read ssf.manage') return [401, { error: 'invalid_client' }];
    this.token = randomUUID();
    return [200, { access_token: this.token, token_type: 'Bearer', expires_in: this.lifetime }];
  }

  #create(body: Json): [number, unknown?] {
    if (this.stream) return [409, { error: 'conflict' }];
    const stream_id = `stream_${randomUUID()}`;
    const asked = body['delivery'] as Kept['delivery'];
    const polled = { ...asked, endpoint_url: `${this.issuer}/events?stream_id=${stream_id}` };
    const delivery = asked.method === 'urn:ietf:rfc:8935' ? asked : polled;
    this.stream = { ...body, stream_id, iss: this.issuer, aud: this.audience, events_delivered: body['events_requested'], delivery };
    return [201, { ...this.stream, ...this.created }];
  }

  #poll({ ack, setErrs, maxEvents }: Json): Json {
    for (const jti of [...((ack as string[] | undefined) ?? []), ...Object.keys((setErrs as Json | undefined) ?? {})])
      delete this.waiting[jti];
    this.acked.push(...((ack as string[] | undefined) ?? []));
    Object.assign(this.errors, setErrs);
    return { sets: maxEvents === 0 ? {} : { ...this.waiting } };
  }
}
