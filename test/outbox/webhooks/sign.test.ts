import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { deliveryHeaders, serviceSignature, standardSignature } from '../../../src/domain/webhooks/sign.js';

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const message = { id: 'evt', timestamp: 1773480413, body: '{"a":"é"}' };

test('X-Service-Signature is keyed with the UTF-8 bytes of the whole secret string', () => {
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(Buffer.from(message.body, 'utf8')).digest('hex');
  expect(serviceSignature(secret, message.body)).toBe(`sha256=${expected}`);
  expect(expected).toMatch(/^[0-9a-f]{64}$/);
});

test('webhook-signature is keyed with the decoded part (Standard Webhooks)', () => {
  const expected = createHmac('sha256', Buffer.alloc(32, 1)).update(`evt.1773480413.${message.body}`).digest('base64');
  expect(standardSignature(secret, message)).toBe(`v1,${expected}`);
});

test('the headers, and two signatures while there is a previous secret', () => {
  expect(Object.keys(deliveryHeaders(secret, null, 'user.created', message))).toEqual([
    'Content-Type',
    'X-Service-Signature',
    'X-Service-Event',
    'User-Agent',
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
  ]);
  const old = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
  expect(deliveryHeaders(secret, old, 'user.created', message)).toMatchObject({
    'X-Service-Signature': serviceSignature(secret, message.body),
    'webhook-signature': `${standardSignature(secret, message)} ${standardSignature(old, message)}`,
  });
});
