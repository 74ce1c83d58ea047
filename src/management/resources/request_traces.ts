import { z } from 'zod';
import { traceOutcomes, traceSteps } from '../../domain/notes/request-traces.js';
import { noReach } from '../../domain/reach/reach.js';
import type { RequestTraceRow } from '../../db/tables/request_traces.js';
import { previewRuleNames, refusalRuleNames } from '../../lib/refusal-rules.js';
import { boundedText, equalTo, holding, isoTime, timeRange } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const rule = z.enum(refusalRuleNames);

const detail = z
  .object({
    client_id: z.string().optional().meta({ description: 'As it was received.' }),
    grant_type: z.string().optional(),
    resource: z.string().optional(),
    scope: z.array(z.string()).optional().meta({ description: 'What was asked for; of an accepted step, what was given.' }),
    scopes: z
      .array(z.object({ name: z.string(), rule: z.enum(previewRuleNames) }))
      .optional()
      .meta({ description: 'What became of each scope.' }),
    redirect_uri: z.string().optional().meta({ description: 'As it was received, without the values of its query.' }),
    registered_redirect_uris: z
      .array(z.string())
      .optional()
      .meta({ description: 'Those that were registered for the client then; left out without the permission clients:read.' }),
    description: z
      .string()
      .optional()
      .meta({ description: 'What the application was told, or what was found, where the rule does not say all.' }),
  })
  .meta({ description: 'What the request said, and what it was compared with; never a code, token, verifier or password.' });

/** The step without what takes another permission. */
function shownStep(step: RequestTraceRow['steps'][number], readsClients: boolean): RequestTraceRow['steps'][number] {
  if (readsClients) return step;
  const { registered_redirect_uris: _hidden, ...shown } = step['detail'] as Record<string, unknown>;
  return { ...step, detail: shown };
}

export const request_traces = resource<RequestTraceRow>({
  type: 'request_trace',
  path: 'request_traces',
  description:
    'Why a request was refused on the way from authorization to tokens, or went on with less than its scope, under the id that its answer bore as X-Request-Id. Kept for seven days; of a flood, only a part.',
  source: { keyType: 'text' },
  attributes: z.object({
    occurred_at: isoTime.meta({ description: 'When it was refused.' }),
    step: z.enum(traceSteps).meta({ description: 'Where on the way it was refused.' }),
    outcome: z.enum(['narrowed', 'refused']).meta({ description: 'narrowed: it went on, with less of the scope than was asked for.' }),
    rule: rule.meta({ description: 'Why.' }),
    error: z.string().nullable().meta({ description: 'The error code that was answered; null for what went on.' }),
    steps: z
      .array(
        z.object({
          at: isoTime,
          step: z.enum(traceSteps),
          outcome: z.enum(traceOutcomes),
          rule: rule.nullable(),
          detail,
          request_id: z.string().nullable(),
        }),
      )
      .meta({
        description:
          'The requests from the authorization on, as far as they are known to belong together; the last is the one that was refused.',
      }),
  }),
  computed: { steps: ({ steps }, _ctx, actor) => steps.map((step) => shownStep(step, actor.permissions.has('clients:read'))) },
  reach: { of: () => noReach },
  relationships: { client: toOne('client', 'The client that was meant, where it is known.') },
  filters: {
    request_id: holding('request_ids', boundedText(128), 'One of its steps has one of these request ids.'),
    client: equalTo('client_id', boundedText(255), 'Meant one of these clients (ids).'),
    rule: equalTo('rule', rule, 'Refused by one of these rules.'),
    step: equalTo('step', z.enum(traceSteps), 'Refused at one of these steps.'),
    occurred_at: timeRange('occurred_at', 'When.'),
  },
  sorts: { occurred_at: { expression: 'request_traces.occurred_at', type: 'timestamptz' } },
  defaultSort: '-occurred_at',
});
