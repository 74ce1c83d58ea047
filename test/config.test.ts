import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.js';

const secret = randomBytes(32).toString('base64');

function problems(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('.env.example lists every variable, each with an explanation', async () => {
  const source = await readFile('src/config.ts', 'utf8');
  const schema = source.slice(source.indexOf('const variables'), source.indexOf('const secrets'));
  const known = [...schema.matchAll(/^ {2}([A-Z_]+): /gm)].map((match) => match[1]);
  const lines = (await readFile('.env.example', 'utf8')).split('\n');
  expect(lines.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split('=')[0])).toEqual(known);
  expect(lines.filter((line, index) => /^[A-Z_]+=/.test(line) && !lines[index - 1]?.startsWith('# '))).toEqual([]);
});

test('.env.example is a valid configuration that changes nothing', async () => {
  const lines = (await readFile('.env.example', 'utf8')).split('\n').filter((line) => /^[A-Z_]+=/.test(line));
  const example = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  expect(readConfig(example)).toEqual(readConfig({}));
});

test('nothing set: a loopback service with its own database', () =>
  expect(readConfig({})).toMatchObject({
    port: 3000,
    host: '127.0.0.1',
    baseUrl: 'http://localhost:3000',
    loopback: true,
    secureCookies: false,
    databaseUrl: null,
    allowPrivateNetwork: true,
    trustProxy: false,
    webConcurrency: 1,
    rateLimits: { enabled: true, login: { limit: 10, windowSeconds: 60 }, api: { limit: 100, windowSeconds: 60 }, store: 'postgres' },
    webhook: { retryBaseMs: 5000, retryFactor: 8, timeoutMs: 10_000 },
  }));

test('a collector of traces is POSTed to below its base address, unless all is disabled (specification 15.5.1)', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://otlp.example/tenant/';
  const { collector } = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=b' });
  expect(collector).toEqual({ url: 'https://otlp.example/tenant/v1/traces', headers: 'a=b' });
  expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }).collector).toBeNull();
  expect(readConfig({}).collector).toBeNull();
});

test('an empty variable counts as absent', () => expect(readConfig({ PORT: '', DATABASE_URL: '', BASE_URL: '' })).toEqual(readConfig({})));

test('all problems are reported at once, and none shows a secret', () => {
  const found = problems({
    PORT: '70000',
    BASE_URL: 'https://id.example.com/path',
    DATABASE_URL: 'mysql://root:hunter2hunter2@db/x',
    SECRET_KEY: 'c2hvcnQ=',
    ADMIN_PASSWORD: 'short',
    RATE_LIMIT_TOKEN: 'many',
  });
  const names = ['ADMIN_EMAIL', 'ADMIN_PASSWORD', 'BASE_URL', 'DATABASE_URL', 'PORT', 'RATE_LIMIT_TOKEN', 'SECRET_KEY'];
  expect(new Set(found.map((problem) => problem.split(' ')[0]))).toEqual(new Set(names));
  expect(found.join('\n')).not.toMatch(/hunter2|c2hvcnQ|short/);
  expect(new ConfigError(found).message.split('\n')).toHaveLength(found.length + 1);
});

test.each([
  ['PORT', '3000x', 'PORT must be a number'],
  ['PORT', '3000.5', 'PORT must be a whole number'],
  ['PORT', '-1', 'PORT'],
  ['BASE_URL', 'id.example.com', 'BASE_URL must be an http or https origin'],
  ['BASE_URL', 'ftp://id.example.com', 'BASE_URL must be an http or https origin'],
  ['BASE_URL', 'https://id.example.com/auth', 'BASE_URL must be an http or https origin without a path'],
  ['BASE_URL', 'https://id.example.com?x=1', 'BASE_URL must be an http or https origin'],
  ['DATABASE_POOL_MAX', '1', 'DATABASE_POOL_MAX'],
  ['DATABASE_REPLICA_URL', 'postgres://replica/id', 'DATABASE_REPLICA_URL needs DATABASE_URL'],
  ['DATABASE_REPLICA_URLS', 'postgres://replica/id, postgres://other/id', 'DATABASE_REPLICA_URLS needs DATABASE_URL'],
  ['DATABASE_REPORT_URL', 'postgres://replica/id', 'DATABASE_REPORT_URL needs DATABASE_URL'],
  ['REPORT_MAX_LAG_MS', '10', 'REPORT_MAX_LAG_MS'],
  ['SECRET_KEY', 'c2hvcnQ=', 'SECRET_KEY must be 32 random bytes in base64 (44 characters), not a passphrase; make one with: openssl rand'],
  ['SECRET_KEY_PREVIOUS', 'c2hvcnQ=', 'SECRET_KEY_PREVIOUS must list earlier keys, at least 32 bytes in base64 each'],
  ['SECRET_KEY_PREVIOUS', `${randomBytes(32).toString('base64')},c2hvcnQ=`, 'SECRET_KEY_PREVIOUS must list earlier keys'],
  ['SECRET_KEY_PREVIOUS', `${randomBytes(32).toString('base64')},`, 'SECRET_KEY_PREVIOUS must list earlier keys'],
  ['DEV_MAILBOX', 'yes', 'DEV_MAILBOX must be local, on or off'],
  ['SMTP_URL', 'mail.example.com', 'SMTP_URL must be an smtp:// or smtps:// address'],
  ['RATE_LIMITS', 'yes', 'RATE_LIMITS must be on or off'],
  ['RATE_LIMIT_LOGIN', '0/60', 'RATE_LIMIT_LOGIN must look like 10/60'],
  ['RATE_LIMIT_STORE', 'files', 'RATE_LIMIT_STORE'],
  ['RATE_LIMIT_STORE', 'redis', 'REDIS_URL is required with RATE_LIMIT_STORE=redis'],
  ['REDIS_URL', 'http://cache', 'REDIS_URL must be a redis:// address'],
  ['WEB_CONCURRENCY', '0', 'WEB_CONCURRENCY must be a number of processes or auto'],
  ['ALLOW_PRIVATE_NETWORK', 'true', 'ALLOW_PRIVATE_NETWORK must be on or off'],
  ['PASSWORD_HASH', '19456', 'PASSWORD_HASH must look like 19456/2'],
  ['PASSWORD_HASH', '7168/4', 'PASSWORD_HASH must cost as much as 7168/5 at least'],
  ['PASSWORD_HASH', '6000/16', 'PASSWORD_HASH must cost as much as 7168/5 at least'],
  ['PASSWORD_HASH', '262145/1', 'PASSWORD_HASH must cost as much as 262144/2 at most'],
  ['PASSWORD_HASH', '65536/16', 'PASSWORD_HASH must cost as much as 262144/2 at most'],
  ['BREACHED_PASSWORDS_URL', 'on', 'BREACHED_PASSWORDS_URL must be off, or an http or https address'],
  ['BREACHED_PASSWORDS_URL', 'https://mirror.internal/range', 'BREACHED_PASSWORDS_URL must be off, or an http or https address'],
  ['BREACHED_PASSWORDS_URL', 'https://user:pass@mirror.internal/range/', 'BREACHED_PASSWORDS_URL must be off'],
  ['BREACHED_PASSWORDS_URL', 'ftp://mirror.internal/range/', 'BREACHED_PASSWORDS_URL must be off'],
  ['WEBHOOK_TIMEOUT_MS', '1', 'WEBHOOK_TIMEOUT_MS'],
  ['SHUTDOWN_DELAY_MS', '60001', 'SHUTDOWN_DELAY_MS'],
  ['TRUST_PROXY', 'the balancer', 'TRUST_PROXY must be off, a number of proxies'],
  ['TRUST_PROXY', '10.0.0.0/8, proxy.internal', 'TRUST_PROXY must be off, a number of proxies'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL'],
  ['LOG_FORMAT', 'xml', 'LOG_FORMAT'],
  ['METRICS_TOKEN', 'short', 'METRICS_TOKEN must have at least 16 characters'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'OTEL_EXPORTER_OTLP_ENDPOINT must be the http or https base address of a collector'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector?key=1', 'OTEL_EXPORTER_OTLP_ENDPOINT must be'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf'],
  ['OTEL_TRACES_SAMPLER', 'sometimes', 'OTEL_TRACES_SAMPLER must be one of always_on'],
  ['OTEL_TRACES_SAMPLER_ARG', '2', 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1'],
  ['OTEL_SDK_DISABLED', 'yes', 'OTEL_SDK_DISABLED must be true or false'],
  ['SECURITY_CONTACT', 'security team', 'SECURITY_CONTACT must be a mail address or an https address'],
  ['SECURITY_CONTACT', 'http://example.com/security', 'SECURITY_CONTACT must be a mail address or an https address'],
  ['SECURITY_CONTACT', 'https://example.com/a\nContact: b', 'SECURITY_CONTACT must be a mail address or an https address'],
  ['MANAGEMENT_CLIENT_ID', 'cli', 'MANAGEMENT_CLIENT_ID and MANAGEMENT_CLIENT_SECRET must be set together'],
  ['ADMIN_EMAIL', 'ada@example.com', 'ADMIN_EMAIL and ADMIN_PASSWORD must be set together'],
  ['DATABASE_URL', 'postgres://db/id', 'SECRET_KEY is required with DATABASE_URL'],
])('%s=%s is refused', (name, value, problem) => {
  const found = problems({ [name]: value });
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(problem);
});

test('behind https: secure cookies, no private network', () => {
  const config = readConfig({ BASE_URL: 'https://id.example.com/', DATABASE_URL: 'postgres://db/id', SECRET_KEY: secret });
  expect(config).toMatchObject({ baseUrl: 'https://id.example.com', loopback: false, secureCookies: true, allowPrivateNetwork: false });
  expect(config).toMatchObject({ databaseUrl: 'postgres://db/id', databaseDirectUrl: 'postgres://db/id', secretKey: secret });
});

test('new passwords are looked for at Pwned Passwords, except on this machine, or where the operator says', () => {
  const of = (environment: Record<string, string>) => readConfig(environment).breachedPasswords;
  const BASE_URL = 'https://id.example.com';
  expect(of({})).toEqual({ url: null, ownUrl: false, file: null });
  expect(of({ BASE_URL })).toEqual({ url: 'https://api.pwnedpasswords.com/range/', ownUrl: false, file: null });
  expect(of({ BASE_URL, BREACHED_PASSWORDS_URL: 'off', BREACHED_PASSWORDS_FILE: '/lists/sha1.txt' })).toMatchObject({
    url: null,
    file: '/lists/sha1.txt',
  });
  for (const url of ['http://10.0.0.5:8080/range/', 'https://mirror.internal/?prefix='])
    expect(of({ BREACHED_PASSWORDS_URL: url })).toMatchObject({ url, ownUrl: true });
});

test.each([
  ['off', false],
  ['on', true],
  ['2', 2],
  ['10.0.0.0/8, loopback', '10.0.0.0/8, loopback'],
])('TRUST_PROXY=%s', (text, value) => expect(readConfig({ TRUST_PROXY: text }).trustProxy).toEqual(value));

test('SECRET_KEY_PREVIOUS lists any number of keys, also ones that SECRET_KEY no longer may be', () => {
  const passphrase = 'correct horse battery staple correct horse battery staple';
  const earlier = [randomBytes(32).toString('base64'), randomBytes(48).toString('base64'), passphrase, 'ab'.repeat(32)];
  expect(readConfig({ SECRET_KEY_PREVIOUS: earlier.join(', ') }).secretKeyPrevious).toEqual(earlier);
  expect(readConfig({}).secretKeyPrevious).toEqual([]);
});

test('DEV_MAILBOX=on is refused, with all other problems, unless BASE_URL is this machine (attack 23.246)', () => {
  for (const BASE_URL of ['https://id.example.com', 'http://192.168.1.5:3000', 'http://localhost.example.com', 'nonsense']) {
    const found = problems({ DEV_MAILBOX: 'on', BASE_URL, PORT: 'x' });
    expect(found.join()).toContain('DEV_MAILBOX=on shows one-time codes to every caller');
    expect(found.join()).toContain('PORT must be a number');
  }
  for (const BASE_URL of ['', 'http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000', 'https://id.localhost'])
    expect(readConfig({ DEV_MAILBOX: 'on', BASE_URL }).devMailbox).toBe('on');
});

test('which addresses other machines reach', () => {
  const beyond = (HOST: string) => readConfig({ HOST }).listensBeyondLoopback;
  expect(['', '127.0.0.1', '127.0.0.2', '::1', 'localhost'].map(beyond)).toEqual([false, false, false, false, false]);
  expect(['0.0.0.0', '::', '192.168.1.5', 'id.example.com'].map(beyond)).toEqual([true, true, true, true]);
});

/** Files with these contents, by name. */
function filed<T>(contents: Record<string, string>, use: (at: (name: string) => string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-config-'));
  try {
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(directory, name), text);
    return use((name) => join(directory, name));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a secret can stand in a file: line ends at its end are not part of it, an empty file is an absent variable', () =>
  filed({ key: `${secret}\n`, smtp: 'smtp://u:p@mail.example.com\r\n', none: '\n' }, (at) => {
    const config = readConfig({
      SECRET_KEY_FILE: at('key'),
      SMTP_URL_FILE: at('smtp'),
      METRICS_TOKEN_FILE: at('none'),
      DATABASE_URL: 'postgres://db.example.com/x',
    });
    expect([config.secretKey, config.smtpUrl, config.metricsToken]).toEqual([secret, 'smtp://u:p@mail.example.com', null]);
  }));

test('a file that is missing, beside the variable itself, or wrong inside is told like a wrong variable, without its content', () => {
  filed({ key: 'hidden passphrase' }, (at) => {
    expect(problems({ SECRET_KEY_FILE: at('nowhere') })).toEqual([`SECRET_KEY_FILE can not be read: ENOENT at ${at('nowhere')}`]);
    expect(problems({ SECRET_KEY: secret, SECRET_KEY_FILE: at('key') })).toEqual(['SECRET_KEY and SECRET_KEY_FILE must not both be set']);
    expect(problems({ SECRET_KEY_FILE: at('key') })).toEqual([expect.stringMatching(/^SECRET_KEY must be 32 random bytes/)]);
    expect(String(problems({ SECRET_KEY_FILE: at('key') }))).not.toContain('hidden');
    // Only what is secret can stand in a file.
    expect(readConfig({ BASE_URL_FILE: at('key') }).baseUrl).toBe('http://localhost:3000');
  });
});

test('DATABASE_PASSWORD is the password of addresses that name none, whatever is in it', () => {
  const password = 'p@ss/w%rd:#?';
  const config = readConfig({
    SECRET_KEY: secret,
    DATABASE_URL: 'postgres://identity@db.example.com:5433/identity?sslmode=require',
    DATABASE_DIRECT_URL: 'postgres://identity:own@db.example.com/identity',
    DATABASE_PASSWORD: password,
  });
  const { username, password: encoded, port, search } = new URL(config.databaseUrl ?? '');
  expect([username, decodeURIComponent(encoded), port, search]).toEqual(['identity', password, '5433', '?sslmode=require']);
  expect(new URL(config.databaseDirectUrl ?? '').password).toBe('own');
  filed({ password: `${password}\n` }, (at) => {
    const fromFile = readConfig({ SECRET_KEY: secret, DATABASE_URL: 'postgres://u@db/x', DATABASE_PASSWORD_FILE: at('password') });
    expect(decodeURIComponent(new URL(fromFile.databaseUrl ?? '').password)).toBe(password);
  });
  expect(problems({ DATABASE_PASSWORD: password })).toEqual(['DATABASE_PASSWORD needs DATABASE_URL, whose password it is']);
});
