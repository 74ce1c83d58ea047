// How records are written for receivers: the schemas' names for each security event.
import { describe, expect, test } from 'vitest';
import type { AuditLogRow } from '../../../src/db/tables/audit_logs.js';
import { lineOf, maxLineBytes, testRow } from '../../../src/domain/log-streams/records.js';
import { securityEvents, type SecurityEventName } from '../../../src/lib/security-events.js';

const at = new Date('2026-03-01T10:00:00.000Z');
const [environment_id, id] = ['01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000002'];
const [user_id, admin_id] = ['01890000-0000-7000-8000-000000000003', '01890000-0000-7000-8000-000000000004'];

const rowOf = (row: Partial<AuditLogRow>): AuditLogRow => ({
  ...testRow(environment_id, id, at),
  changes: {},
  ip_address: '198.51.100.7',
  user_agent: 'Agent/1',
  request_id: 'r-1',
  ...row,
});
const eventRow = (event: SecurityEventName, row: Partial<AuditLogRow> = {}) =>
  rowOf({ event, action: event, outcome: securityEvents[event].outcome, ...row });
const written = (format: 'native' | 'ecs' | 'ocsf', row: AuditLogRow, source: 'security_events' | 'audit_logs' = 'security_events') =>
  JSON.parse(lineOf(format, source, row)) as Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- what is looked at differs

const assigned = eventRow('role.assigned', {
  actor_kind: 'user', actor_id: admin_id, actor_display: 'root@example.com', target_id: user_id, target_display: 'ada@example.com',
  changes: { roles: [null, ['clerk']] }, reason: null,
}); // prettier-ignore
const operation = rowOf({
  event: null, security_event: false, action: 'webhook.created', outcome: 'success', reason: null, target_type: 'webhook', target_id: 'w',
  target_display: 'Orders', actor_kind: 'client', actor_id: 'shop', actor_display: 'Shop', changes: { name: [null, 'Orders'] },
}); // prettier-ignore

describe('native', () => {
  test('a security event is what the Management API shows, with its source', () => {
    expect(written('native', assigned)).toEqual({
      source: 'security_events', environment_id, id, event: 'role.assigned', severity: 'warning', occurred_at: at.toISOString(), outcome: 'success',
      actor: { actor_kind: 'user', actor_id: admin_id, display: 'root@example.com' }, user_id, client_id: null, ip_address: '198.51.100.7',
      user_agent: 'Agent/1', request_id: 'r-1', count: 1,
      detail: { reason: null, target: { target_type: 'user', target_id: user_id, display: 'ada@example.com' }, roles: ['clerk'] },
    }); // prettier-ignore
  });

  test('an operation is its entry in the audit log', () =>
    expect(written('native', operation, 'audit_logs')).toMatchObject({
      source: 'audit_logs',
      id,
      action: 'webhook.created',
      actor: { actor_kind: 'client', actor_id: 'shop' },
      targets: [{ target_type: 'webhook', target_id: 'w', display: 'Orders' }],
      changes: { name: [null, 'Orders'] },
    }));
});

describe('ECS 8', () => {
  test('a security event: action, category, outcome, source, the user who did it and the one it is about', () =>
    expect(written('ecs', assigned)).toMatchObject({
      '@timestamp': at.toISOString(),
      ecs: { version: expect.stringMatching(/^8\./) as string },
      message: 'role.assigned',
      event: {
        id,
        kind: 'event',
        action: 'role.assigned',
        category: ['iam'],
        type: ['user', 'change'],
        outcome: 'success',
        dataset: 'idp.security_events',
      },
      source: { ip: '198.51.100.7' },
      user: { id: admin_id, target: { id: user_id } },
      user_agent: { original: 'Agent/1' },
      http: { request: { id: 'r-1' } },
    }));

  test('a refused sign-in is a failed authentication of the user; a reused token an alert', () => {
    const failed = written('ecs', eventRow('login.failed', { target_id: user_id }));
    expect(failed).toMatchObject({ event: { category: ['authentication'], outcome: 'failure', reason: 'test' }, user: { id: user_id } });
    expect(written('ecs', eventRow('refresh_token.reused'))['event']).toMatchObject({ kind: 'alert', category: ['intrusion_detection'] });
  });

  test('an operation is a change of configuration, its changes one text', () => {
    const line = written('ecs', operation, 'audit_logs');
    expect(line).toMatchObject({ event: { action: 'webhook.created', category: ['configuration'], dataset: 'idp.audit_logs' } });
    expect(JSON.parse(line['idp'].changes as string)).toEqual({ name: [null, 'Orders'] });
    expect(line).not.toHaveProperty('user');
  });
});

describe('OCSF 1', () => {
  test('a security event: class, activity, severity, time, and what its class demands', () => {
    expect(written('ocsf', assigned)).toMatchObject({
      class_uid: 3005, category_uid: 3, activity_id: 1, type_uid: 300501, severity_id: 3, time: at.getTime(), status_id: 1, count: 1,
      metadata: { uid: id, event_code: 'role.assigned', correlation_uid: 'r-1', version: expect.stringMatching(/^1\./) as string },
      actor: { user: { uid: admin_id, name: 'root@example.com' } }, user: { uid: user_id, name: 'ada@example.com' }, privileges: ['clerk'],
      src_endpoint: { ip: '198.51.100.7' },
    }); // prettier-ignore
    expect(written('ocsf', eventRow('authorization_code.reused'))).toMatchObject({
      class_uid: 2004,
      severity_id: 5,
      finding_info: { uid: id },
    });
    expect(written('ocsf', eventRow('signing_key.changed'))).toMatchObject({ class_uid: 3004, entity: { type: 'user' } });
  });

  test('an operation is API activity by its verb', () => {
    const line = written('ocsf', operation, 'audit_logs');
    expect(line).toMatchObject({ class_uid: 6003, activity_id: 1, api: { operation: 'webhook.created' }, actor: { app_uid: 'shop' } });
    expect(written('ocsf', { ...operation, action: 'webhook.tested' }, 'audit_logs')['activity_id']).toBe(99);
  });
});

describe.each(['native', 'ecs', 'ocsf'] as const)('%s', (format) => {
  test('every security event has a line, with its name in it', () => {
    for (const name of Object.keys(securityEvents) as SecurityEventName[]) {
      const line = lineOf(format, 'security_events', eventRow(name));
      expect(line).toContain(JSON.stringify(name));
      if (format === 'ocsf') expect((JSON.parse(line) as { type_uid: number }).type_uid).toBeGreaterThan(200_000);
    }
    expect(lineOf(format, 'security_events', rowOf({ event: 'made.later' as never }))).toContain('made.later');
  });

  test('line breaks and quotes that strangers send stay inside of their value (attack 35.727)', () => {
    const line = lineOf(format, 'security_events', eventRow('login.failed', { user_agent: 'a"}\n{"event":"role.assigned"\r\u2028' }));
    expect(line).not.toMatch(/[\n\r]/);
    expect(JSON.parse(line)).toBeTypeOf('object');
  });

  test('a record too large for a line is sent without its changes, and says so', () => {
    const huge = { ...operation, changes: { description: ['x'.repeat(maxLineBytes), 'y'] as [unknown, unknown] } };
    const line = lineOf(format, 'audit_logs', huge);
    expect(Buffer.byteLength(line)).toBeLessThan(2000);
    expect(JSON.parse(line)).toMatchObject({ truncated: true });
  });
});
