import { z } from 'zod';
import { bodyLimits } from '../../http/request/body-limits.js';
import { applyDocument, changeSummaryOf, type Application } from '../configuration/apply.js';
import { driftOf } from '../configuration/drift.js';
import { credentialPermissions } from '../configuration/described-credentials.js';
import { exportDocument } from '../configuration/export.js';
import { kindNames, documentKinds, permissionsToReadKinds } from '../configuration/kinds.js';
import { hasRoomForOrganizations, readLive } from '../configuration/live.js';
import { reported } from '../reported.js';
import { endpoint } from './endpoint.js';

const everythingRead = [...new Set([...permissionsToReadKinds(Object.values(documentKinds)), ...credentialPermissions])] as [
  string,
  ...string[],
];

const text = (description: string) => z.string().meta({ description });
const state = text('A digest of the configuration: the same as long as nobody changes it.');
const document = z.looseObject({}).meta({ description: 'A configuration document; its JSON Schema is at `/api/config/schema.json`.' });

const change = z.looseObject({
  action: z.enum(['create', 'update', 'delete']),
  kind: z.enum(kindNames),
  key: text('What the document calls the record; `{identifier}#{name}` of a permission, `{client_id} -> {identifier}` of a grant.'),
  attributes: z
    .record(z.string(), z.tuple([z.unknown(), z.unknown()]))
    .meta({ description: 'Old and new value of each attribute that changes; a secret is `[secret]`.' }),
});

const summary = z
  .looseObject({ create: z.int(), update: z.int(), delete: z.int() })
  .meta({ description: 'How many records are created, changed and deleted.' });

const application = z.strictObject({
  document,
  secrets: z
    .record(z.string().max(5000), z.string().max(8192))
    .optional()
    .meta({ description: 'What the references of the document stand for: `env:NAME` or `file:PATH`, and the secret.' }),
  prune: z.boolean().optional().meta({ description: 'Deletes what the collections of the document don’t have; false unless given.' }),
  expected_state: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'The `state` that was seen: 409 `state_changed` when it is another one by now.' }),
});

const applied = z.looseObject({
  changes: z.array(change).meta({ description: 'What is done to which record, in the order in which it is.' }),
  summary,
  warnings: z
    .array(z.looseObject({ code: z.string(), detail: z.string(), pointer: z.string() }))
    .meta({ description: 'What is as it should be and yet might surprise.' }),
  secrets: z.array(z.looseObject({ kind: z.enum(kindNames), key: z.string(), attribute: z.string(), value: z.string().optional() })).meta({
    description: 'Secrets that nobody gave and the service makes; their `value` is shown by the answer that makes them, and never again.',
  }),
  state,
});

const author = z.looseObject({
  at: z.iso.datetime({ precision: 3 }),
  actor_kind: z.string(),
  actor_id: z.string().nullable(),
  display: z.string().nullable(),
  request_id: z.string().nullable(),
});

const given = (input: z.infer<typeof application>): Application => ({
  document: input.document,
  secrets: input.secrets ?? {},
  prune: input.prune ?? false,
  expected_state: input.expected_state ?? null,
});

const planning = {
  method: 'POST',
  group: 'config',
  // What the document has of a collection takes that collection’s permissions too.
  permissions: ['environments:read'],
  writes: true,
  input: application,
  maxBytes: bodyLimits.configuration,
  answer: applied,
  refusals: [409],
} as const;

export const getConfig = endpoint({
  name: 'get_config',
  method: 'GET',
  path: 'config',
  group: 'config',
  summary: 'Export the configuration as a document',
  description:
    'Names instead of ids; secrets are references. Without what comes with the service, users, sessions, clients that came by themselves, and organizations where there are more than 20,000.',
  permissions: everythingRead,
  answer: z.looseObject({ document, state }),
  words: ['config', 'export'],
  async run(call) {
    const live = await reported(call, async (there) => readLive(there, await hasRoomForOrganizations(there)));
    return { document: await exportDocument(live), state: live.state };
  },
});

export const planConfig = endpoint({
  ...planning,
  name: 'plan_config',
  path: 'config/plan',
  summary: 'Say what applying a document would do',
  description: 'Applies it in a transaction that is taken back, so that whatever would be refused is refused here.',
  words: ['config', 'plan'],
  async run(call, input) {
    const { secrets, ...outcome } = await applyDocument(call, given(input), 'plan');
    const named = secrets.map(({ kind, key, attribute }) => ({ kind, key, attribute }));
    return { ...outcome, secrets: named, summary: changeSummaryOf(outcome.changes) };
  },
});

export const applyConfig = endpoint({
  ...planning,
  name: 'apply_config',
  path: 'config/apply',
  summary: 'Make the environment what a document says',
  description:
    'In one transaction, by the operations of the Management API: each collection’s permissions, events and audit entries. All problems are told at once.',
  words: ['config', 'apply'],
  async run(call, input) {
    const outcome = await applyDocument(call, given(input), 'apply');
    return { ...outcome, summary: changeSummaryOf(outcome.changes) };
  },
});

export const getConfigDrift = endpoint({
  name: 'get_config_drift',
  method: 'GET',
  path: 'config/drift',
  group: 'config',
  summary: 'Say how the environment differs from the document last applied',
  permissions: [...everythingRead, 'audit_logs:read'],
  answer: z.looseObject({
    applied: author.nullable().meta({ description: 'Who applied the document, when; null = none was.' }),
    changes: z.array(change.extend({ changed: author.nullable() })).meta({
      description: 'What became of which record since, with the value that was applied and the one that is; and who did it, when.',
    }),
    summary,
    state,
  }),
  words: ['config', 'drift'],
  async run(call) {
    const { applied: by, changes, state: now } = await driftOf(call);
    return { applied: by, changes, summary: changeSummaryOf(changes), state: now };
  },
});
