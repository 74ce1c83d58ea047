/**
 * What kinds of security events are called by the Elastic Common Schema (ECS 8, `event.category` and `event.type`) and by the Open Cybersecurity Schema
 * Framework (OCSF 1, `class_uid` and `activity_id`). Each security event is of one class.
 */
export type ForeignNames = {
  readonly ecs: { readonly category: readonly string[]; readonly type: readonly string[] };
  readonly ocsf: { readonly class_uid: number; readonly activity_id: number };
};

const iam = (type: readonly string[], class_uid: number, activity_id: number): ForeignNames => ({
  ecs: { category: ['iam'], type },
  ocsf: { class_uid, activity_id },
});

/** OCSF: 2004 Detection Finding, 3001 Account Change, 3002 Authentication, 3004 Entity Management, 3005 User Access Management, 4001 Network Activity, 6003 API Activity. */
export const eventClasses = {
  logon: { ecs: { category: ['authentication'], type: ['start'] }, ocsf: { class_uid: 3002, activity_id: 1 } },
  authentication: { ecs: { category: ['authentication'], type: ['info'] }, ocsf: { class_uid: 3002, activity_id: 99 } },
  password_changed: iam(['user', 'change'], 3001, 3),
  password_reset: iam(['user', 'change'], 3001, 4),
  account_locked: iam(['user', 'change'], 3001, 9),
  factor_added: iam(['user', 'change'], 3001, 10),
  factor_removed: iam(['user', 'change'], 3001, 11),
  account_changed: iam(['user', 'change'], 3001, 99),
  account_deleted: iam(['user', 'deletion'], 3001, 6),
  access_granted: iam(['user', 'change'], 3005, 1),
  access_withdrawn: iam(['user', 'change'], 3005, 2),
  access_changed: iam(['admin', 'change'], 3005, 99),
  configuration_changed: { ecs: { category: ['configuration'], type: ['change'] }, ocsf: { class_uid: 3004, activity_id: 3 } },
  finding: { ecs: { category: ['intrusion_detection'], type: ['info'] }, ocsf: { class_uid: 2004, activity_id: 1 } },
  connection_refused: { ecs: { category: ['network'], type: ['connection', 'denied'] }, ocsf: { class_uid: 4001, activity_id: 5 } },
  operation_denied: { ecs: { category: ['api', 'iam'], type: ['access', 'denied'] }, ocsf: { class_uid: 6003, activity_id: 99 } },
} as const satisfies Record<string, ForeignNames>;

export type EventClass = keyof typeof eventClasses;
