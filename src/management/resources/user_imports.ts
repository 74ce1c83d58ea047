import { z } from 'zod';
import {
  cancelUserImport,
  createUserImport,
  receiveImportData,
  type FilePart,
  type UserImportInput,
} from '../../domain/moving/user-imports.js';
import { union, noReach } from '../../domain/reach/reach.js';
import { type Problem, Refusal, unfit } from '../../domain/refusal.js';
import type { Context } from '../../domain/context.js';
import { importModes, importStatuses, type ImportErrorRow, type UserImportRow } from '../../db/tables/user_imports.js';
import { bodyLimits } from '../../http/request/body-limits.js';
import { checkUrl } from '../../platform/fetch/guard.js';
import { boundedText, equalTo, isoTime, stamps, timeRange } from '../fields.js';
import { resource } from '../declaration.js';
import { toMany } from '../links.js';

const key = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9+/_-]+={0,2}$/, 'must be base64');

/** A source is fetched as webhooks are sent: at an address that anybody could reach. */
function sourceProblems(ctx: Context, { source_url }: Partial<UserImportInput>): Problem[] {
  if (source_url === undefined || source_url === null) return [];
  const code = checkUrl(source_url, { allowPrivateNetwork: ctx.config.allowPrivateNetwork });
  return code === null ? [] : [unfit('source_url', code, 'The file can not be fetched from there.')];
}

export const user_import_row_errors = resource<ImportErrorRow>({
  type: 'user_import_row_error',
  path: 'user_import_row_errors',
  routed: false,
  permissions: 'user_imports',
  description: 'A row of an import that was not taken, and why. Kept for 30 days.',
  source: { table: 'user_import_errors' },
  attributes: z.object({ line: z.int(), code: z.string(), pointer: z.string().nullable(), detail: z.string() }),
  reach: { of: () => noReach },
  relationships: { user_import: { kind: 'one', to: 'user_import', column: 'import_id', description: 'The import.' } },
  filters: {},
  sorts: { line: { expression: 'user_import_errors.line', type: 'integer' } },
  defaultSort: 'line',
});

export const user_imports = resource<UserImportRow, UserImportInput>({
  type: 'user_import',
  path: 'user_imports',
  description:
    'Users that come from another system, as a file of one JSON object a line (NDJSON). Make an import, send the file to `{id}/data`, and read it until `finished_at` is set. It acts as whoever made it.',
  attributes: z.object({
    status: z.enum(importStatuses),
    received_bytes: z.int(),
    total_bytes: z.int().nullable(),
    read_bytes: z.int(),
    row_count: z.int(),
    created_count: z.int(),
    updated_count: z.int(),
    unchanged_count: z.int(),
    failed_count: z.int(),
    error: z.string().nullable(),
    actor_display: z.string(),
    finished_at: isoTime.nullable(),
    ...stamps,
  }),
  // Whoever brings the rows acts as the maker.
  reach: { of: (_tx, row) => union(['users:write'], row.finished_at === null ? row.actor_permissions : []) },
  settable: {
    mode: ['plain', z.enum(importModes), 'needed and fixed'],
    dry_run: ['plain', z.boolean(), 'fixed'],
    emit_events: ['plain', z.boolean(), 'fixed'],
    addresses_proven: ['plain', z.boolean(), 'fixed'],
    hash_parameters: [
      'plain',
      z.strictObject({ signer_key: key, salt_separator: key }).meta({
        writeOnly: true,
        description: 'The `base64_signer_key` and `base64_salt_separator` of a Firebase project, for rows with its hashes; sealed.',
      }),
      'fixed',
    ],
    source_url: [
      'plain',
      boundedText(2048).nullable().meta({
        description: 'Where the file is fetched from, in parts (`Range`), instead of being sent; null = it is sent.',
      }),
      'fixed',
    ],
  },
  relationships: { row_errors: toMany('user_import_row_error', 'import_id', 'The rows that were not taken, in the order of the file.') },
  filters: {
    status: equalTo('status', z.enum(importStatuses), 'How far they are.'),
    created_at: timeRange('created_at', 'When it was made.'),
  },
  create: { problems: sourceProblems, run: async (tx, actor, input) => ({ row: await createUserImport(tx, actor, input) }) },
  actions: {
    data: {
      method: 'PUT',
      description:
        'Takes the file (`application/x-ndjson`, plain or gzip), whole or in parts of at most 8 MiB with `Content-Range`; the next part begins at `received_bytes`. With the last part the import waits for its turn.',
      audit: 'data_received',
      touch: 'control',
      receives: { mediaType: 'application/x-ndjson', maxBytes: bodyLimits.import_part },
      async run(tx, actor, row, _input, prepared) {
        if (actor.actor_kind !== row.actor_kind || actor.actor_id !== row.actor_id)
          throw new Refusal({
            status: 403,
            code: 'scope_escalation',
            detail: 'Only who made the import brings its data: it acts as its maker.',
          });
        return { row: await receiveImportData(tx, row, prepared as FilePart) };
      },
    },
    cancel: {
      method: 'PATCH',
      description: 'Ends the import. Users that it has made stay.',
      audit: 'cancelled',
      touch: 'plain',
      run: async (tx, _actor, row) => ({ row: await cancelUserImport(tx, row) }),
    },
  },
  display: (row) => `${row.mode} ${row.created_at.toISOString()}`,
});
