import { z } from 'zod';
import { createLogStream, rotateStreamSecret, updateLogStream, type LogStreamInput } from '../../domain/log-streams/log-streams.js';
import { postLines } from '../../domain/log-streams/post.js';
import { lineOf, testRow } from '../../domain/log-streams/records.js';
import { reachOfLogStream } from '../../domain/reach/reach-of.js';
import { type Problem, unfit } from '../../domain/refusal.js';
import type { Context } from '../../domain/context.js';
import { maxNameLength, webhookProblems } from '../../domain/webhooks/input.js';
import {
  logStreamFormats,
  logStreamSources,
  noteLogStreamTest,
  removeLogStream,
  visibleLogStreams,
  type LogStreamRow,
} from '../../db/tables/log_streams.js';
import { uuidv7 } from '../../lib/random.js';
import { equalTo, isoTime, stamps, stampSorts, textSort, uniqueTexts } from '../fields.js';
import { resource } from '../declaration.js';
import { changed } from '../resource.js';

const status = z.enum(['enabled', 'paused']);
const format = z.enum(logStreamFormats);
const sources = uniqueTexts(z.enum(logStreamSources), logStreamSources.length).min(1).meta({
  description: 'What is sent: `security_events`, `audit_logs` for the operations that are none, and `events`: those of the feed.',
}) as unknown as z.ZodType<LogStreamInput['sources']>;
const once = z.object({ signing_secret: z.string().meta({ description: 'Shown by this answer only.' }) });
const url = z
  .string()
  .meta({ format: 'uri', description: 'Where the lines are sent: https; http only where private networks are allowed.' });
const authorization = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be visible ASCII characters, as a header can hold')
  .nullable()
  .meta({
    description: 'The value of the `Authorization` header that is sent along, such as `Bearer ...`; never shown again. null = none.',
  });

const problems = (ctx: Context, { name: called, url: address }: Partial<LogStreamInput>): Problem[] =>
  webhookProblems(
    { ...(called !== undefined && { name: called }), ...(address !== undefined && { url: address }) },
    { allowPrivateNetwork: ctx.config.allowPrivateNetwork },
  ).map(({ attribute, path, code, detail }) => unfit([attribute, ...path], code, `${attribute} ${detail}.`));

const tested = z.object({
  delivered: z.boolean().meta({ description: 'Whether the receiver answered 2xx.' }),
  response_status: z.int().nullable().meta({ description: 'What it answered; null = nothing.' }),
  error: z.string().nullable().meta({ description: 'Why it counts as not delivered; null = it was.' }),
  duration_ms: z.int(),
});

export const log_streams = resource<LogStreamRow, LogStreamInput, Partial<LogStreamInput>>({
  type: 'log_stream',
  path: 'log_streams',
  description:
    'Receivers of security events and of the audit log, such as a SIEM: lines of JSON (NDJSON), in order, at least once, signed like a webhook. A receiver that is away misses nothing. The signing secret is shown when it is made and never again.',
  source: { visible: visibleLogStreams },
  attributes: z.object({
    has_authorization: z.boolean(),
    secret_hint: z.string().meta({ description: 'The last four characters of the signing secret.' }),
    secret_rotated_at: isoTime.nullable(),
    lag_seconds: z.int(),
    last_sent_at: isoTime.nullable(),
    last_error: z.string().nullable(),
    last_response_status: z.int().nullable(),
    failing_since: isoTime.nullable(),
    failed_attempt_count: z.int(),
    ...stamps,
  }),
  hidden: ['authorization'],
  computed: {
    failed_attempt_count: ({ attempt_count }) => attempt_count,
    has_authorization: ({ authorization_sealed }) => authorization_sealed !== null,
    // A row that was just written has nothing that waits, or goes on as it was.
    lag_seconds: ({ lag_seconds }) => lag_seconds ?? 0,
  },
  reach: { of: (_tx, row) => reachOfLogStream(row) },
  settable: {
    name: ['plain', z.string().max(maxNameLength), 'needed'],
    url: ['control', url, 'needed'],
    // Lines that the receiver can't read are lost to it, as if nothing were sent.
    format: ['control', format, 'needed'],
    sources: ['reach and control', sources, 'needed'],
    status: ['control', status],
    authorization: ['control', authorization],
  },
  filters: { status: equalTo('status', status, 'Enabled or paused.') },
  sorts: { ...stampSorts('log_streams'), name: textSort('log_streams.name') },
  create: {
    once,
    problems,
    async run(tx, _actor, input) {
      const { stream, signing_secret } = await createLogStream(tx, input);
      return { row: stream, once: { signing_secret } };
    },
  },
  update: { problems, run: async (tx, _actor, row, input) => ({ row: changed(await updateLogStream(tx, row, input)) }) },
  remove: { run: async (tx, _actor, row) => void (await removeLogStream(tx.scope, row.id)) },
  actions: {
    rotate_secret: {
      method: 'PATCH',
      description: 'Makes a new signing secret. For 24 hours the old one signs the Standard Webhooks header too.',
      audit: 'secret_rotated',
      touch: 'control',
      once,
      async run(tx, _actor, row) {
        const { stream, signing_secret } = changed(await rotateStreamSecret(tx, row.id));
        return { row: stream, once: { signing_secret } };
      },
    },
    test: {
      method: 'POST',
      description: 'Sends one record that says it is a test, at once and beside what waits, and answers what came of it.',
      audit: 'tested',
      // What is sent tells nothing.
      touch: 'plain',
      meta: tested,
      prepare: async (ctx, _actor, row) => {
        const now = ctx.clock.now();
        const sample = testRow(row.environment_id, uuidv7(now.getTime()), now);
        const { response_status, error, duration_ms } = await postLines(ctx, row, [lineOf(row.format, 'security_events', sample)]);
        return { delivered: error === null, response_status, error, duration_ms };
      },
      async run(tx, _actor, row, _input, prepared) {
        const meta = prepared as z.infer<typeof tested>;
        return { row: (await noteLogStreamTest(tx.scope, row.id, meta)) ?? row, meta };
      },
    },
  },
  display: (stream) => stream.name,
});
