// What a collector of traces is sent, as a collector reads it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { startCollector, type CollectedSpan, type CollectorUnderTest } from '../support/collector.js';
import { addClient, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { manage, managementClient } from '../support/management.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { startSmtpServer } from '../support/smtp.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

const strangers = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const traceparent = (flags = '01') => `00-${strangers.trace}-${strangers.span}-${flags}`;

/** A service with a collector, and what it has sent when it has ended. */
async function collected(
  environment: Record<string, string>,
  work: (service: TestService) => Promise<void>,
): Promise<{ spans: CollectedSpan[]; collector: CollectorUnderTest; log: Record<string, unknown>[] }> {
  const collector = await startCollector();
  try {
    const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_LEVEL: 'debug', ...environment });
    try {
      await work(service);
    } finally {
      await service.stop();
    }
    return { spans: collector.spans, collector, log: service.log.map((line) => JSON.parse(line) as Record<string, unknown>) };
  } finally {
    await collector.close();
  }
}

const machine = async (service: TestService) => {
  const ctx = await service.context();
  const client = await addClient(ctx, { grant_types: ['client_credentials'] });
  const resource = await addResource(ctx);
  await addGrant(ctx, client, resource);
  return { client, resource };
};

const ask = (service: TestService, client: TestClient, headers: Record<string, string> = {}) =>
  oauthPost(service.url, '/oauth/token', client, { grant_type: 'client_credentials', resource: 'https://api.example/notes' }, headers);

const server = (spans: readonly CollectedSpan[], name?: string) =>
  spans.filter((span) => span.kind === 'SERVER' && (name === undefined || span.name === name));
const below = (spans: readonly CollectedSpan[], parent: CollectedSpan) => spans.filter((span) => span.parent_span_id === parent.span_id);
const inTrace = (spans: readonly CollectedSpan[], trace_id: string) => spans.filter((span) => span.trace_id === trace_id);

describe('a service with a collector', () => {
  const sent: { spans: CollectedSpan[]; collector: CollectorUnderTest; log: Record<string, unknown>[] } = {} as never;
  let client: TestClient;
  let person: TestClient;
  let user_id: string;

  beforeAll(async () => {
    const hooks = await startReceiver();
    const smtp = await startSmtpServer();
    const result = await collected(
      {
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=shop,authorization=Bearer%20collector',
        SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
        MANAGEMENT_CLIENT_ID: managementClient.id,
        MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
      },
      async (service) => {
        const ctx = await service.context();
        client = (await machine(service)).client;
        person = await addClient(ctx);
        const user = await addUser(ctx, { email: 'span-canary@example.com' });
        user_id = user.id;
        await ask(service, client, { 'x-request-id': 'alone' });
        const { access_token } = (await ask(service, client)).body;
        // Together, so that their statements share connections and round trips.
        await Promise.all(
          Array.from({ length: 40 }, (_, at) =>
            oauthPost(service.url, '/oauth/introspect', client, { token: access_token }, { 'x-request-id': `together-${at}` }),
          ),
        );
        const browser = new Browser(service.url);
        await browser.login(user.email ?? '', password);
        const grant = await authorizeCode(browser, person);
        await redeem(service.url, person, grant, {});
        await redeem(service.url, person, grant, {});
        await oauthPost(service.url, '/oauth/token', { ...client, client_secret: 'wrong' }, { grant_type: 'password' });
        await tokenRequest(service.url, client, { grant_type: 'grant-canary@example.com' });
        await fetch(
          `${service.url}/oauth/authorize?client_id=${person.id}&redirect_uri=https://app.example/cb&prompt=none&state=state-canary`,
          { redirect: 'manual' },
        );
        await fetch(`${service.url}/api/users/${user_id}?filter=query-canary`);
        const api = await manage(service.url);
        expect((await api.get(`/users/${user_id}`)).status).toBe(200);
        expect((await api.get(`/users?filter[email]=${user.email}`)).status).toBe(200);
        await fetch(`${service.url}/nothing-canary`, { method: 'PROPFIND' });
        await fetch(`${service.url}/healthz`);
        await fetch(`${service.url}/login`, { headers: { traceparent: traceparent() } });
        await fetch(`${service.url}/login`, { headers: { traceparent: traceparent('00') } });
        for (const malformed of [
          '00-x',
          `ff-${strangers.trace}-${strangers.span}-01`,
          `00-${'0'.repeat(32)}-${strangers.span}-01`,
          `${traceparent()}-more`,
        ])
          await fetch(`${service.url}/register`, { headers: { traceparent: malformed } });
        await addWebhook(ctx, `${hooks.url}/path-canary?key=key-canary`, { events: ['*'] });
        await emitRoles(ctx);
        await hooks.received(1);
        await new Browser(service.url).postJson('/password/forgot', { email: user.email });
        await eventually(async () => smtp.received.length > 0);
      },
    );
    Object.assign(sent, result);
    await hooks.close();
    await smtp.close();
  });

  test('a token request is a span with its route, its client and what was done for it (specification 15.5.3)', () => {
    const [span] = server(sent.spans, 'POST /oauth/token').filter(({ attributes }) => attributes['idp.request_id'] === 'alone');
    expect(span).toMatchObject({ parent_span_id: '', failed: false, links: [], events: 0, status_message: '' });
    expect(span?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/oauth/token',
      'http.response.status_code': 200,
      'idp.request_id': 'alone',
      'idp.client_id': client.id,
      'idp.grant_type': 'client_credentials',
    });
    const inner = below(sent.spans, span as CollectedSpan);
    expect(inner.map(({ kind, name }) => `${kind} ${name}`)).toContain('INTERNAL sign RS256');
    const statements = inner.filter(({ kind }) => kind === 'CLIENT');
    expect(statements.length).toBeGreaterThan(0);
    for (const { name, attributes } of statements) expect(attributes).toEqual({ 'db.system.name': 'postgresql', 'db.query.summary': name });
  });

  test('statements that share a round trip hang under the requests that asked for them (specification 15.5.4)', () => {
    const together = server(sent.spans, 'POST /oauth/introspect').filter(({ attributes }) =>
      String(attributes['idp.request_id']).startsWith('together-'),
    );
    expect(new Set(together.map(({ trace_id }) => trace_id)).size).toBe(40);
    for (const span of together) {
      const trace = inTrace(sent.spans, span.trace_id);
      expect(server(trace)).toEqual([span]);
      expect(below(sent.spans, span)).toHaveLength(trace.length - 1);
      expect(trace.filter(({ name }) => name === 'access_tokens.own_jwt_status')).toHaveLength(1);
    }
  });

  test('a sign-in has the hash of its password, and what it writes in a transaction (specification 15.5.3)', () => {
    const [login] = server(sent.spans, 'POST /login');
    const names = below(sent.spans, login as CollectedSpan).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['password hash', 'BEGIN', 'COMMIT']));
    expect(login?.attributes).not.toHaveProperty('idp.client_id');
  });

  test('a refusal is told by its code, and is no failure of the service (specification 15.5.3)', () => {
    const codes = server(sent.spans)
      .filter(({ attributes }) => attributes['idp.error_code'] !== undefined)
      .map(({ name, attributes, failed }) => [name, attributes['idp.error_code'], attributes['idp.client_id'], failed]);
    expect(codes).toEqual(
      expect.arrayContaining([
        ['POST /oauth/token', 'invalid_grant', person.id, false],
        ['POST /oauth/token', 'invalid_client', undefined, false],
        ['POST /oauth/token', 'unsupported_grant_type', client.id, false],
        ['GET /oauth/authorize', 'invalid_request', person.id, false],
        ['GET /api/users/:id', 'invalid_token', undefined, false],
        ['HTTP', 'not_found', undefined, false],
      ]),
    );
  });

  test('a path of the Management API is told by its pattern, with the client that calls (specification 15.5.3)', () => {
    const [span] = server(sent.spans, 'GET /api/users/:id').filter(({ attributes }) => attributes['http.response.status_code'] === 200);
    expect(span?.attributes).toMatchObject({ 'http.route': '/api/users/:id', 'idp.client_id': managementClient.id });
  });

  test('a stranger’s trace is a link, whatever it says of sampling; what is no traceparent is none (attack 35.770)', () => {
    const linked = server(sent.spans, 'GET /login').filter(({ links }) => links.length > 0);
    expect(linked).toHaveLength(2);
    for (const { links, parent_span_id, trace_id } of linked) {
      expect(links).toEqual([{ trace_id: strangers.trace, span_id: strangers.span }]);
      expect([parent_span_id, trace_id === strangers.trace]).toEqual(['', false]);
    }
    const malformed = server(sent.spans, 'GET /register');
    expect(malformed).toHaveLength(4);
    for (const { links, parent_span_id } of malformed) expect([links, parent_span_id]).toEqual([[], '']);
  });

  test('nothing that somebody typed or was given is in a span (attack 35.771)', () => {
    const all = Buffer.concat(sent.collector.bodies).toString('latin1');
    expect(all).toContain(client.id);
    for (const word of [
      'canary',
      'example.com',
      user_id,
      '/login?',
      'state=',
      'Bearer',
      '127.0.0.1:',
      'Mozilla',
      password,
      person.client_secret,
    ])
      expect(all).not.toContain(word);
    const names = new Set(sent.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].sort()).toEqual([
      'db.query.summary',
      'db.system.name',
      'error.type',
      'http.request.method',
      'http.response.status_code',
      'http.route',
      'idp.client_id',
      'idp.error_code',
      'idp.grant_type',
      'idp.request_id',
      'network.protocol.name',
      'server.address',
      'server.port',
    ].filter((name) => name !== 'error.type')); // prettier-ignore
  });

  test('a delivery and a mail are traces of their own, with the host alone of where they go (specification 15.5.5)', () => {
    const [delivery] = sent.spans.filter(({ name }) => name === 'webhook attempt');
    expect(delivery).toMatchObject({ kind: 'INTERNAL', parent_span_id: '' });
    const [post] = below(sent.spans, delivery as CollectedSpan).filter(({ name }) => name === 'POST');
    expect(post?.kind).toBe('CLIENT');
    expect(post?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': expect.any(Number),
    });
    const [mail] = sent.spans.filter(({ name }) => name === 'mail attempt');
    expect(below(sent.spans, mail as CollectedSpan).map(({ name, attributes }) => [name, attributes])).toEqual(
      expect.arrayContaining([['SMTP', { 'network.protocol.name': 'smtp', 'server.address': '127.0.0.1' }]]),
    );
  });

  test('loops that look for something to do, and health checks, make no span (specification 15.5.5)', () => {
    const roots = new Set(
      sent.spans.filter(({ parent_span_id, kind }) => parent_span_id === '' && kind !== 'SERVER').map(({ name }) => name),
    );
    expect([...roots].filter((name) => !/^\w+ attempt$|^janitor pass$/.test(name))).toEqual([]);
    expect(server(sent.spans).filter(({ name }) => name.includes('healthz'))).toEqual([]);
  });

  test('lines of the log name the trace of their request, security events too (specification 15.5.6)', () => {
    const traceOf = new Map(server(sent.spans).map(({ trace_id, attributes }) => [attributes['idp.request_id'], trace_id]));
    const requests = sent.log.filter(({ event, path }) => event === 'http.request' && path !== '/healthz');
    expect(requests.length).toBeGreaterThan(50);
    for (const { request_id, trace_id } of requests) expect(trace_id).toBe(traceOf.get(request_id as string));
    const events = sent.log.filter(({ event }) => event === 'authorization_code.reused' || event === 'client.authentication_failed');
    expect(new Set(events.map(({ event }) => event)).size).toBe(2);
    for (const { request_id, trace_id } of events) expect(trace_id).toBe(traceOf.get(request_id as string));
    expect(sent.log.filter(({ event, trace_id }) => event === 'service.ready' && trace_id !== undefined)).toEqual([]);
  });

  test('the collector is told who sends, and gets the headers of the operator (specification 15.5.1)', () => {
    expect(sent.spans[0]?.resource).toMatchObject({ 'service.name': 'identity-provider', 'service.version': expect.any(String) });
    expect(sent.collector.headers[0]).toMatchObject({
      path: '/v1/traces',
      'content-type': 'application/x-protobuf',
      'x-tenant': 'shop',
      authorization: 'Bearer collector',
    });
  });
});

describe('what the variables of OpenTelemetry say', () => {
  const variables = ['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG', 'OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'];
  const before = Object.fromEntries(variables.map((name) => [name, process.env[name]]));
  const set = (values: Record<string, string>) => Object.assign(process.env, values);
  const restore = () => {
    for (const name of variables) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  };
  afterAll(restore);

  test('a proxy that is trusted is the parent, and decides whether its trace is recorded (specification 15.5.6)', async () => {
    const { spans, log } = await collected({ TRUST_PROXY: 'loopback' }, async (service) => {
      await fetch(`${service.url}/login`, { headers: { traceparent: traceparent(), 'x-request-id': 'recorded' } });
      await fetch(`${service.url}/login`, { headers: { traceparent: traceparent('00'), 'x-request-id': 'unrecorded' } });
    });
    const requests = server(spans).filter(({ trace_id }) => trace_id === strangers.trace);
    expect(requests.map(({ parent_span_id, links, attributes }) => [parent_span_id, links, attributes['idp.request_id']])).toEqual([
      [strangers.span, [], 'recorded'],
    ]);
    const traces = log.filter(({ event }) => event === 'http.request').map(({ request_id, trace_id }) => [request_id, trace_id]);
    expect(traces).toEqual([
      ['recorded', strangers.trace],
      ['unrecorded', undefined],
    ]);
  });

  test('the sampler and the name are the operator’s (specification 15.5.1)', async () => {
    set({ OTEL_TRACES_SAMPLER: 'always_off' });
    const off = await collected({}, async (service) => {
      await fetch(`${service.url}/login`);
    });
    expect([off.spans, off.log.filter(({ trace_id }) => trace_id !== undefined)]).toEqual([[], []]);
    set({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' });
    set({ OTEL_SERVICE_NAME: 'login', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging' });
    const half = await collected({}, async (service) => {
      for (let at = 0; at < 64; at++) await fetch(`${service.url}/login`);
    });
    restore();
    const count = server(half.spans).length;
    expect(count).toBeGreaterThan(8);
    expect(count).toBeLessThan(56);
    expect(half.spans[0]?.resource).toMatchObject({ 'service.name': 'login', 'deployment.environment.name': 'staging' });
    // A trace is recorded whole or not at all.
    for (const { trace_id } of half.spans)
      expect(inTrace(half.spans, trace_id).filter(({ parent_span_id }) => parent_span_id === '')).toHaveLength(1);
  });

  test('OTEL_SDK_DISABLED turns it off (specification 15.5.1)', async () => {
    const { collector } = await collected({ OTEL_SDK_DISABLED: 'true', LOG_LEVEL: 'info' }, async (service) => {
      await fetch(`${service.url}/login`);
      expect(service.deps.tracer).toBeNull();
    });
    expect(collector.headers).toEqual([]);
  });
});
