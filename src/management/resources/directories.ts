import { z } from 'zod';
import {
  changeDirectory,
  createDirectory,
  directoryUrl,
  removeDirectory,
  revokePreviousToken,
  rotateToken,
} from '../../domain/directories/directories.js';
import { reachOfSpeaker } from '../../domain/reach/reach-of-organizations.js';
import type { DirectoryRow } from '../../db/tables/directories.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { equalTo, isoTime, stamps, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toMany, toOne } from '../links.js';

const status = z.enum(['enabled', 'disabled']).meta({ description: '`disabled`: its token is good for nothing.' });
const once = z.object({ token: z.string().meta({ description: 'Shown by this answer only.' }) });

type DirectoryInput = { readonly status?: DirectoryRow['status'] };

export const directories = resource<DirectoryRow, DirectoryInput, DirectoryInput>({
  type: 'directory',
  path: 'directories',
  description:
    'How an organization’s directory tells of its people and groups (SCIM 2.0, RFC 7644): one for each organization. It speaks for addresses in the organization’s verified domains alone, and changes nobody who administers the environment. The token is shown when it is made and never again.',
  attributes: z.object({
    base_url: z.string().meta({ description: 'The address of the SCIM endpoints, for the directory’s provider.' }),
    token_hint: z.string().meta({ description: 'The last four characters of the token.' }),
    previous_token_expires_at: isoTime.nullable().meta({ description: 'Until when the token before is good; null = there is none.' }),
    last_used_at: isoTime.nullable().meta({ description: 'When the directory last sent a request, to the minute; null = never.' }),
    ...stamps,
  }),
  computed: { base_url: (row, ctx) => directoryUrl(ctx, row) },
  organization: { column: 'organization_id' },
  reach: { of: reachOfSpeaker },
  settable: { status: ['control', status] },
  relationships: {
    organization: toOne('organization', 'Whose directory.', { create: 'required' }),
    groups: toMany('organization_group', 'directory_id', 'The groups that it tells of.'),
  },
  filters: {
    organization: equalTo('organization_id', uuid, 'Of one of these organizations (ids).'),
    status: equalTo('status', z.enum(['enabled', 'disabled']), 'Enabled or disabled.'),
  },
  create: {
    once,
    async run(tx, _actor, input, related) {
      const { directory, token } = await createDirectory(tx, input, related['organization'] as unknown as OrganizationRow);
      return { row: directory, once: { token } };
    },
  },
  update: { run: async (tx, _actor, row, input) => ({ row: await changeDirectory(tx, row, input) }) },
  remove: { run: (tx, _actor, row) => removeDirectory(tx, row) },
  actions: {
    rotate_token: {
      method: 'PATCH',
      description: 'Makes a new token. The one before is good for seven more days, unless it is revoked.',
      audit: 'token_rotated',
      touch: 'control',
      once,
      async run(tx, _actor, row) {
        const { directory, token } = await rotateToken(tx, row as DirectoryRow);
        return { row: directory, once: { token } };
      },
    },
    revoke_previous_token: {
      method: 'PATCH',
      description: 'Ends the token before at once.',
      audit: 'previous_token_revoked',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: await revokePreviousToken(tx, row as DirectoryRow) }),
    },
  },
});
