import { z } from 'zod';
import { beginUserExport, createUserExport, exportedUsers, type UserExportInput } from '../../domain/moving/user-exports.js';
import type { UserExportRow } from '../../db/tables/user_exports.js';
import { isoTime, stamps, timeRange } from '../fields.js';
import { resource } from '../declaration.js';
import { exportedAttributes } from './user-attributes.js';

export const user_exports = resource<UserExportRow, UserExportInput>({
  type: 'user_export',
  path: 'user_exports',
  description:
    'All users as a file that an import takes, here or at another service. Make an export, and fetch `{id}/data` within 15 minutes: it is written as it is fetched.',
  attributes: z.object({ status: z.enum(['available', 'expired']), expires_at: isoTime, taken_at: isoTime.nullable(), ...stamps }),
  computed: { status: (row, ctx) => (row.expires_at > ctx.clock.now() ? 'available' : 'expired') },
  reach: { of: (_tx, row) => new Set(['users:read', 'roles:read', ...(row.include_password_hashes ? ['password_hashes:read'] : [])]) },
  settable: { include_password_hashes: ['plain', z.boolean(), 'fixed'] },
  filters: { created_at: timeRange('created_at', 'When it was made.') },
  create: { run: async (tx, _actor, input) => ({ row: await createUserExport(tx, input) }) },
  download: {
    mediaType: 'application/x-ndjson',
    description: 'All users, a JSON object a line, as an import takes them; for 15 minutes.',
    audit: 'downloaded',
    begin: beginUserExport,
    content: (read, row) => exportedUsers(read, row, exportedAttributes),
  },
  display: (row) => row.created_at.toISOString(),
});
