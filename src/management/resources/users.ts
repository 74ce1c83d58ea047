import { z } from 'zod';
import { resetAuthenticators } from '../../domain/credentials/authenticator-removal.js';
import { countMail } from '../../domain/mail/mail-budget.js';
import { noOrigin } from '../../domain/origin.js';
import { startPasswordReset } from '../../domain/credentials/password-reset.js';
import { reachOfUser } from '../../domain/reach/reach-of.js';
import { endSessions } from '../../domain/sessions/sessions.js';
import { forgetDevices } from '../../domain/sessions/remembered-browsers.js';
import { grantRevocationEnd } from '../../domain/tokens/revoke.js';
import { invalidTransition } from '../../domain/refusal.js';
import { blockUser, unblockUser } from '../../domain/users/blocking.js';
import { keepAccount } from '../../domain/users/own-deletion.js';
import { removeUser } from '../../domain/users/removal.js';
import { changeUser, changeUserRoles, createUser, hashOf, userProblems, type UserInput } from '../../domain/users/users.js';
import { listRoleIdsOfUser, type RoleRow } from '../../db/tables/roles.js';
import { findRows } from '../../db/lists/list.js';
import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Actor } from '../../domain/actor.js';
import type { LinkChange } from '../../domain/changes.js';
import type { Context } from '../../domain/context.js';
import {
  byIndex,
  equalTo,
  flagFilter,
  indexed,
  linked,
  searchFilter,
  stamps,
  stampSorts,
  boundedText,
  textSort,
  isoTime,
  timeRange,
} from '../fields.js';
import { resource } from '../declaration.js';
import { toLinked, toMany } from '../links.js';
import type { RelatedRows } from '../resource.js';
import { settable } from './user-attributes.js';
import { hasAuthenticator } from './user-filters.js';

const namedIn = (related: RelatedRows) => related['roles'] as unknown as readonly RoleRow[] | undefined;

async function changeRoles(
  tx: Context,
  actor: Actor,
  user: UserRow,
  { add = [], remove = [], replace }: LinkChange<RoleRow>,
): Promise<UserRow> {
  if (!replace) return add.length + remove.length === 0 ? user : changeUserRoles(tx, actor, user, { add, remove });
  const keep = new Set(replace.map((role) => role.id));
  const gone = (await listRoleIdsOfUser(tx.scope, user.id)).filter((id) => !keep.has(id));
  const rows = (await findRows(tx.scope, { table: 'roles', key: 'id', keyType: 'uuid' }, 'id', gone)) as unknown as RoleRow[];
  return changeUserRoles(tx, actor, user, { add: replace, remove: rows });
}

/** When a user last signed in; before all others for who never did. */
const lastLogin = `(coalesce(users.last_login_at, '-infinity'::timestamptz))`;

export const users = resource<UserRow, UserInput, UserInput>({
  type: 'user',
  path: 'users',
  description: 'People who can sign in. The address is unique in the environment, whatever its case.',
  organization: {
    owned:
      'exists (select from organization_memberships m where m.environment_id = users.environment_id and m.user_id = users.id and m.organization_id = ?)',
    shows: ['email', 'first_name', 'middle_name', 'last_name', 'full_name', 'status'],
  },
  attributes: z.object({
    full_name: z.string().nullable().meta({ description: 'First and last name; null = neither is set.' }),
    status: z.enum(['active', 'blocked']),
    has_password: z.boolean(),
    password_changed_at: isoTime.nullable(),
    password_breached_at: isoTime.nullable(),
    last_login_at: isoTime.nullable(),
    login_count: z.int(),
    two_step_enabled: z.boolean(),
    authenticator_kinds: z.array(z.enum(authenticatorKinds)),
    recovery_codes_left: z.int(),
    deletion_due_at: isoTime.nullable(),
    ...stamps,
  }),
  computed: {
    full_name: (user) => [user.first_name, user.last_name].filter(Boolean).join(' ') || null,
    has_password: (user) => user.password_hash !== null,
  },
  reach: { of: (tx, user) => reachOfUser(tx, user.id) },
  settable,
  relationships: {
    roles: toLinked<UserRow, RoleRow>(
      'role',
      { table: 'user_roles', near: 'user_id' },
      'The roles that the user holds. To name them in a write takes `roles:write` too.',
      changeRoles,
      { needs: ['roles:write'] },
    ),
    sessions: toMany('session', 'user_id', 'Where the user is, or was, signed in.'),
    identities: toMany('identity', 'user_id', 'The accounts at providers that sign the user in.', { include: true }),
    provider_tokens: toMany('provider_token', 'user_id', 'What clients have of those accounts.', { include: true }),
    authorizations: toMany('authorization', 'user_id', 'Which clients act for the user.', { include: true }),
    consents: toMany('consent', 'user_id', 'What the user allowed clients.', { include: true }),
  },
  filters: {
    email: byIndex(equalTo('email_key', z.string().min(3).max(254).toLowerCase(), 'The address, whatever its case.')),
    status: equalTo('status', z.enum(['active', 'blocked']), 'Active or blocked.'),
    external_id: byIndex(equalTo('external_id', boundedText(255), 'The id in another system.')),
    email_verified: flagFilter('email_verified', 'Whether the address was proven.'),
    pending_migration: flagFilter('pending_migration', 'Whether the first password is still to be checked by the system they came from.'),
    two_step_enabled: flagFilter('two_step_enabled', 'Whether one factor is not enough to sign in.'),
    authenticator: hasAuthenticator,
    role: linked(
      { table: 'user_roles', near: 'user_id', far: 'role_id' },
      'Holds one of these roles (ids). Takes `roles:read` too.',
      'roles:read',
    ),
    connection: linked({ table: 'identities', near: 'user_id', far: 'connection_id' }, 'Signs in through one of these connections (ids).'),
    search: searchFilter({ table: 'user_search_texts', key: 'user_id' }, 'Address, names or external id'),
    created_at: timeRange('created_at', 'When the user was created.'),
    updated_at: timeRange('updated_at', 'When the user was last changed.'),
    last_login_at: timeRange('last_login_at', 'When the user last signed in.', lastLogin),
  },
  sorts: indexed({
    ...stampSorts('users'),
    email: textSort('users.email_key'),
    last_name: textSort(`(coalesce(lower(users.last_name), ''))`),
    last_login_at: { expression: lastLogin, type: 'timestamptz' },
  }),
  create: {
    problems: (ctx, input) => userProblems(ctx, input, null),
    prepareFor: ['password', 'password_hash'],
    prepare: (ctx, _actor, input) => hashOf(ctx, input, null),
    async run(tx, actor, input, related, hash) {
      return { row: await createUser(tx, actor, input, hash as string | undefined, namedIn(related) ?? []) };
    },
  },
  update: {
    problems: (ctx, input, row) => userProblems(ctx, input, row),
    prepareFor: ['password', 'password_hash'],
    prepare: (ctx, _actor, row, input) => hashOf(ctx, input, row),
    async run(tx, actor, row, input, related, hash) {
      const user = await changeUser(tx, actor, row, input, hash as string | undefined);
      return { row: await changeRoles(tx, actor, user, { replace: namedIn(related) }) };
    },
  },
  remove: { run: removeUser },
  actions: {
    block: {
      method: 'PATCH',
      description: 'Blocks the user, and ends the sessions and everything that clients hold of the user.',
      audit: 'blocked',
      touch: 'control',
      run: async (tx, actor, row) => ({ row: await blockUser(tx, actor, row) }),
    },
    unblock: {
      method: 'PATCH',
      description: 'Lets a blocked user sign in again.',
      audit: 'unblocked',
      touch: 'control',
      run: async (tx, actor, row) => ({ row: await unblockUser(tx, actor, row) }),
    },
    cancel_deletion: {
      method: 'PATCH',
      description: 'Keeps an account whose user asked to delete it, and tells the user by mail.',
      audit: 'deletion_cancelled',
      touch: 'control',
      async run(tx, actor, row) {
        if (row.deletion_due_at === null) throw invalidTransition('The user does not wait for deletion.');
        return { row: await keepAccount(tx, row, actor.origin ?? noOrigin, actor) };
      },
    },
    revoke_sessions: {
      method: 'PATCH',
      description: 'Ends all sessions of the user, and what was issued in them unless `offline_access` was granted.',
      audit: 'sessions_revoked',
      touch: 'control',
      needs: ['sessions:write'],
      async run(tx, _actor, row) {
        const ended = await endSessions(tx, { user_id: row.id }, 'revoked');
        return { row, noted: { sessions: ended.length } };
      },
    },
    revoke_tokens: {
      method: 'PATCH',
      description: 'Ends everything that clients hold of the user, `offline_access` or not; sessions and consents stay.',
      audit: 'tokens_revoked',
      touch: 'control',
      async run(tx, _actor, row) {
        const grants = await revokeGrants(tx.scope, { user_id: row.id }, grantRevocationEnd(tx));
        return { row, noted: { grants } };
      },
    },
    reset_authenticators: {
      method: 'PATCH',
      description:
        'For somebody who lost them: removes all authenticators, ends sessions, remembered browsers and everything that clients hold of the user, and tells the user by mail. Who is left without a way to sign in gets a mail to set a password.',
      audit: 'authenticators_reset',
      touch: 'control',
      needs: ['authenticators:write'],
      async run(tx, actor, row) {
        return { row: (await resetAuthenticators(tx, actor, row, actor.origin ?? noOrigin)) ?? row };
      },
    },
    forget_devices: {
      method: 'PATCH',
      description: 'Forgets the browsers that skip the second step of the user: the next sign-in in each takes it again.',
      audit: 'devices_forgotten',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row, noted: { devices: await forgetDevices(tx, row.id) } }),
    },
    send_password_reset: {
      method: 'POST',
      description: 'Mails the user a code and a link to choose a new password, ten times in ten minutes at most; neither is shown here.',
      audit: 'password_reset_sent',
      // It goes to the person's own address.
      touch: 'plain',
      prepare: (ctx, _actor, row) => countMail(ctx, 'password_reset_by_administrator', row.id),
      async run(tx, _actor, row) {
        if (row.status === 'blocked') throw invalidTransition('A blocked user can not choose a new password.');
        await startPasswordReset(tx, row, { initiated_by: 'admin' });
        return { row };
      },
    },
  },
  display: (user) => user.email,
});
