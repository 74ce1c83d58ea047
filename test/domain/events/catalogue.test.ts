import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { catalogue, eventTypes, isNamedEvent } from '../../../src/domain/events/catalogue.js';
import { eventTypeDocuments } from '../../../src/domain/events/documents.js';
import { payloadText } from '../../../src/domain/events/emit.js';
import { sampleEnvelope, samples } from '../../../src/domain/events/samples.js';

test('the 18 event types of the interface, in its order', () =>
  expect(eventTypes.filter((type) => !isNamedEvent(type))).toEqual([
    'user.created',
    'user.registered',
    'user.updated',
    'user.password_reset',
    'user.password_changed',
    'role.created',
    'role.updated',
    'permission.created',
    'permission.updated',
    'client.registered',
    'client.updated',
    'token.issued',
    'signing_key.generated',
    'signing_key.deactivated',
    'environment.updated',
    'custom_domain.created',
    'custom_domain.deleted',
    'webhook.test',
  ]));

test('those that come by name only (specification 7.2.5)', () =>
  expect(eventTypes.filter(isNamedEvent)).toEqual([
    'user.deleted',
    'user.blocked',
    'user.unblocked',
    'session.created',
    'session.revoked',
    'login.succeeded',
    'login.failed',
    'password.changed',
    'password.breached',
    'authenticator.created',
    'authenticator.deleted',
    'client.created',
    'client.deleted',
    'authorization.revoked',
    'connection.created',
    'connection.updated',
    'connection.deleted',
    'organization.created',
    'organization.updated',
    'organization.deleted',
    'organization_membership.created',
    'organization_membership.updated',
    'organization_membership.deleted',
    'organization_invitation.created',
    'organization_invitation.accepted',
    'organization_domain.verified',
    'directory.user_provisioned',
    'directory.user_deprovisioned',
    'approval.requested',
    'approval.decided',
    'provider_token.lost',
  ]));

describe.each(eventTypeDocuments())('$id', ({ id, payload_schema, example, group }) => {
  test('its sample fits its schema, with nothing beside', () =>
    expect(catalogue[id].data.strict().safeParse(samples[id]).error).toBeUndefined());

  test('its JSON Schema accepts the sample and misses each member', () => {
    const ajv = new Ajv2020({ strict: false });
    (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
    const validate = ajv.compile(payload_schema);
    validate(example.data);
    expect(validate.errors).toBeNull();
    for (const member of Object.keys(samples[id])) {
      const { [member]: _left, ...rest } = samples[id] as Record<string, unknown>;
      expect(validate(rest)).toBe(false);
    }
    // What belongs to organizations, and to agents, is one group.
    const subject = id.slice(0, id.indexOf('.'));
    expect(group).toBe(/^(organization|directory)/.test(id) ? 'organizations' : subject === 'authorization' ? 'agents' : subject);
  });

  test('its payload has the five members in their order and stays below 20 kB', () => {
    const { event_id, timestamp, environment_id } = sampleEnvelope;
    const text = payloadText({ id: event_id, type: id, at: new Date(timestamp), environment_id }, samples[id] as never);
    expect(Object.keys(JSON.parse(text) as object)).toEqual(['event', 'event_id', 'timestamp', 'environment_id', 'data']);
    expect(JSON.parse(text)).toEqual(example);
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
  });

  test('no member is named for a secret, a hash, a code or a token value (attack 16.202)', () => {
    const names = JSON.stringify(payload_schema).match(/"[a-z_]+":/g) ?? [];
    expect(
      names.filter((name) => /secret|password"|hash|digest|"otp"|private|access_token"|refresh_token"|_sealed|"code"/.test(name)),
    ).toEqual([]);
  });
});
