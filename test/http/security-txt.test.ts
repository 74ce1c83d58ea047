import { afterAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../support/service.js';

const services: TestService[] = [];
afterAll(() => Promise.all(services.map((service) => service.stop())));

async function ask(environment: Record<string, string>) {
  const service = await startTestService(environment);
  services.push(service);
  return { service, answer: await fetch(`${service.url}/.well-known/security.txt`) };
}

test('finders of a vulnerability are told whom to write to, and until when that holds (RFC 9116)', async () => {
  const { service, answer } = await ask({ SECURITY_CONTACT: 'security@example.com' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const fields = Object.fromEntries(
    (await answer.text())
      .trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  expect(fields).toEqual({
    Contact: 'mailto:security@example.com',
    Expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/) as string,
    'Preferred-Languages': 'en',
    Canonical: `${service.deps.config.baseUrl}/.well-known/security.txt`,
  });
  const days = (Date.parse(fields['Expires'] as string) - service.clock.now().getTime()) / 86_400_000;
  expect(days).toBeGreaterThan(178);
  expect(days).toBeLessThanOrEqual(180);
});

test('an https address stays as it is', async () => {
  const { answer } = await ask({ SECURITY_CONTACT: 'https://example.com/report' });
  expect(await answer.text()).toContain('Contact: https://example.com/report\n');
});

test('without SECURITY_CONTACT there is no such file', async () => {
  const { answer } = await ask({});
  expect(answer.status).toBe(404);
  expect(await answer.text()).not.toContain('Contact:');
});
