import { expect, test } from 'vitest';
import { inspectConfig } from '../../src/config.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';

const namesOf = (environment: Record<string, string>) => inspectConfig(environment).nearby.map(({ name, meant }) => `${name} ${meant}`);

test.each([
  ['SMTP_URI', 'SMTP_URL'],
  ['BASEURL', 'BASE_URL'],
  ['base_url', 'BASE_URL'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['SECRETKEY', 'SECRET_KEY'],
  ['TRUSTPROXY', 'TRUST_PROXY'],
  ['RATELIMITS', 'RATE_LIMITS'],
])('%s is called nearly like %s', (name, meant) => expect(namesOf({ [name]: 'x' })).toEqual([`${name} ${meant}`]));

test('what other programs read is no mistake', () =>
  expect(
    namesOf({
      HOME: 'x',
      POST: 'x',
      HOSTNAME: 'x',
      SHLVL: '1',
      PATH: 'x',
      LOGNAME: 'x',
      NODE_ENV: 'x',
      PGHOST: 'x',
      DATABASE_HOST: 'x',
      constructor: 'x',
    }),
  ).toEqual([]));

test('the variables of hundreds of services beside do not hold the event loop of whoever asks the doctor (attack 18.1081)', async () => {
  const beside = Array.from({ length: 300 }, (_, index): [string, string] => [`ORDERS_${index}_SERVICE_HOST`, '10.0.0.1']);
  const environment = Object.fromEntries([...beside, ['BASEURL', 'x'], ['x'.repeat(100_000), 'x']]);
  const { ms } = await costOf(async () => {
    expect(namesOf(environment)).toEqual(['BASEURL BASE_URL']);
    return 200;
  });
  expect(ms).toBeLessThan(mostHeld);
});

test('every problem with the variables that it is about, and a configuration of the sound ones', () => {
  const { config, problems } = inspectConfig({
    PORT: 'many',
    BASE_URL: 'https://id.example.com',
    DATABASE_URL: 'mysql://x',
    DATABASE_REPLICA_URL: 'postgres://replica/x',
    RATE_LIMIT_STORE: 'redis',
    REDIS_URL: 'x',
    ADMIN_EMAIL: 'a@example.com',
  });
  expect(problems.map(({ variables }) => variables[0]).sort()).toEqual(
    ['ADMIN_EMAIL', 'DATABASE_URL', 'PORT', 'REDIS_URL', 'SECRET_KEY'].sort(),
  );
  expect([config.port, config.baseUrl, config.databaseUrl, config.rateLimits.store]).toEqual([
    3000,
    'https://id.example.com',
    null,
    'postgres',
  ]);
});

test('problems of what stands in files end the inspection, too', () => {
  const { config, problems } = inspectConfig({ DATABASE_URL_FILE: '/nowhere', SMTP_URL: 'smtp://mail', SECRET_KEY_FILE: '/nowhere' });
  expect(problems.map(({ variables }) => variables[0])).toEqual(['SECRET_KEY_FILE', 'DATABASE_URL_FILE']);
  expect([config.databaseUrl, config.smtpUrl]).toEqual([null, 'smtp://mail']);
});

test('no value stands in a problem', () => {
  const { problems } = inspectConfig({
    DATABASE_URL: 'hidden-1',
    SECRET_KEY: 'hidden-2',
    METRICS_TOKEN: 'hidden-3',
    SMTP_URL: 'hidden-4',
    PORT: 'hidden-5',
  });
  expect(problems.length).toBeGreaterThan(4);
  expect(JSON.stringify(problems)).not.toContain('hidden');
});
