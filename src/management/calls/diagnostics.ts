import { z } from 'zod';
import { sharedDiagnosis } from '../../domain/diagnostics/diagnose.js';
import { installationOf } from '../../domain/diagnostics/own-installation.js';
import { endpoint } from './endpoint.js';

const levels = ['ok', 'notice', 'warning', 'problem', 'skipped'] as const;

const text = (description: string) => z.string().meta({ description });

/** What the doctor finds in the service that answers. */
export const diagnostics = endpoint({
  name: 'diagnostics',
  method: 'GET',
  path: 'diagnostics',
  group: 'diagnostics',
  summary: 'Look for what is wrong with the installation',
  description:
    'Looks at configuration, addresses, certificates, clocks, database, keys, mail, webhooks and connections of all environments, and names for everything that is wrong the command or variable that mends it. Takes up to nine seconds; changes nothing. For operators: needs a token of the default environment.',
  permissions: ['diagnostics:read'],
  operators: true,
  words: ['diagnostics'],
  answer: z.object({
    status: z.enum(['ok', 'warning', 'problem']).meta({ description: 'The worst level; notices count as ok.' }),
    checks: z
      .array(
        z.object({
          id: text('The name of the check. One that found several things is there several times.'),
          level: z.enum(levels).meta({ description: 'How bad it is; `skipped` could not be looked at.' }),
          finding: text('What was found, in one sentence.'),
          why: text('What follows from it; null where nothing is wrong.').nullable(),
          fix: text(
            'The command or variable that mends it; null where nothing has to be mended, or nothing mends it from here.',
          ).nullable(),
          look: text('A command that only looks closer and changes nothing; null where there is none.').nullable(),
          subject: text('What it is about: a variable, or `<collection>/<id>`; null: the whole.').nullable(),
        }),
      )
      .meta({ description: 'What was found, in the order of the list of checks.' }),
  }),
  run: async ({ ctx }) => {
    const { status, checks } = await sharedDiagnosis(ctx.db.knex, () => installationOf(ctx));
    return { status, checks: checks.map((one) => ({ ...one })) };
  },
});
