import { isDeepStrictEqual } from 'node:util';
import { listDefaultRolesOfOrganization } from '../../db/tables/organization_default_roles.js';
import { listDefaultRoles, listRoleNamesOfUsers, type RoleRow } from '../../db/tables/roles.js';
import type { ImportCounts, UserImportRow } from '../../db/tables/user_imports.js';
import { findUsersByEmailKeys, type UserRow } from '../../db/tables/users.js';
import { linkIdentity, linkToAccount } from '../../domain/connections/identities.js';
import { savepoint } from '../../domain/context.js';
import { managingOrganization } from '../../domain/organizations/domains.js';
import { noOrigin } from '../../domain/origin.js';
import { reachOfRoles, reachOfUser } from '../../domain/reach/reach-of.js';
import { holdsEverything, noReach, requireReach } from '../../domain/reach/reach.js';
import { Refusal } from '../../domain/refusal.js';
import { requireEnvironmentRoles } from '../../domain/roles/role-kinds.js';
import { blockUser, unblockUser } from '../../domain/users/blocking.js';
import { createUsers } from '../../domain/users/users.js';
import { ApiError } from '../../errors.js';
import { turns } from '../../lib/turns.js';
import { changesBetween, recordWrites } from '../audit.js';
import type { Call } from '../call.js';
import { attributesOf } from '../documents.js';
import type { ResourceRow } from '../resource.js';
import { users } from '../resources/users.js';
import { perform } from '../write-steps.js';
import { recordsNamedIn, resolveRow, rowProblem, type ResolvedRow } from './resolved-rows.js';
import { RowKeys } from './row-keys.js';
import { ofError, ofProblem, type ImportRow, type RowProblem } from './rows.js';

export type RowErrors = { readonly line: number; readonly problems: readonly RowProblem[] };

export type BatchResult = ImportCounts & { readonly errors: readonly RowErrors[] };

/** What the write of one row was refused for. @throws what is no refusal */
function problemsOf(error: unknown): readonly RowProblem[] {
  if (error instanceof Refusal) return error.problems.map(ofProblem);
  if (error instanceof ApiError) return error.errors.map(ofError);
  throw error;
}

/** Writes the rows of a batch, each by itself: what is refused of one leaves the others be. */
class Batch {
  readonly errors: RowErrors[] = [];
  readonly counts = { created_count: 0, updated_count: 0, unchanged_count: 0 };
  readonly #decided = new Map<string, readonly RowProblem[]>();
  #defaults: readonly RoleRow[] | null = null;

  constructor(
    readonly call: Call,
    readonly job: UserImportRow,
  ) {}

  refuse(line: number, problems: readonly RowProblem[]): void {
    this.errors.push({ line, problems });
  }

  /** The roles of an organization that whoever has the address comes to by signing in. */
  async #rolesByAddress({ email, email_verified }: ResolvedRow['input']): Promise<readonly RoleRow[]> {
    const { ctx } = this.call;
    const managing = email_verified ? await managingOrganization(ctx, email) : null;
    if (managing?.organization.auto_membership !== 'domain') return [];
    return listDefaultRolesOfOrganization(ctx.scope, managing.organization.id);
  }

  /** Whether the actor may give a new user these roles and what comes by itself, as at `POST /api/users`; decided once for each set of roles. */
  async #mayCreate({ granted: roles, roles: names, input }: ResolvedRow): Promise<readonly RowProblem[]> {
    const { ctx, actor } = this.call;
    const naming = names !== undefined;
    const all = holdsEverything(actor);
    const joined = all ? [] : await this.#rolesByAddress(input);
    const key = `${naming} ${[...roles, ...joined].map(({ id }) => id).join(' ')}`;
    const known = this.#decided.get(key);
    if (known) return known;
    const problems: RowProblem[] = [];
    if (naming && !actor.permissions.has('roles:write'))
      problems.push(rowProblem('insufficient_scope', '/roles', 'To name roles takes the permission roles:write.'));
    try {
      requireEnvironmentRoles(roles);
      this.#defaults ??= await listDefaultRoles(ctx.scope);
      const after = all ? noReach : await reachOfRoles(ctx, [...roles, ...this.#defaults, ...joined]);
      requireReach(actor, { before: noReach, after, touched: [{ touch: 'control', at: { relationship: 'roles' } }] });
    } catch (error) {
      problems.push(...problemsOf(error));
    }
    this.#decided.set(key, problems);
    return problems;
  }

  /** Makes new users together. */
  async create(rows: readonly ResolvedRow[]): Promise<void> {
    const allowed: ResolvedRow[] = [];
    for (const row of rows) {
      const problems = await this.#mayCreate(row);
      if (problems.length > 0) this.refuse(row.line, problems);
      else allowed.push(row);
    }
    if (allowed.length === 0) return;
    const { ctx, actor } = this.call;
    const made = await createUsers(
      ctx,
      actor,
      allowed.map(({ input, hash, granted }) => ({ input, hash, roles: granted })),
    );
    const stored: { user: UserRow; row: ResolvedRow }[] = [];
    for (const [at, row] of allowed.entries()) {
      const user = made[at];
      if (user) stored.push({ user, row });
      else
        this.refuse(row.line, [
          rowProblem(
            'already_exists',
            row.input.external_id ? '/external_id' : '/email',
            'Somebody has this address or external id already.',
          ),
        ]);
    }
    await this.#audit(stored);
    for (const { user, row } of stored) await this.#attach(user, row);
    this.counts.created_count += stored.length;
  }

  #audit(stored: readonly { user: UserRow; row: ResolvedRow }[]): Promise<void> {
    const { call } = this;
    const entries = stored.map(({ user, row }) => {
      const sent = [...Object.keys(row.input), ...(row.hash === undefined ? [] : ['password_hash'])];
      const shown = attributesOf(call, users, user as unknown as ResourceRow);
      const changes = changesBetween({}, { ...shown, ...(row.granted.length > 0 && { roles: row.granted.map(({ id }) => id) }) }, sent);
      return { action: 'created', resource: users, target_id: user.id, target_display: user.email, changes };
    });
    return recordWrites(call, entries);
  }

  /** What hangs on a user: accounts at connections, and whether the user is blocked. */
  async #attach(user: UserRow, { accounts, status }: ResolvedRow): Promise<void> {
    const { ctx, actor } = this.call;
    for (const { connection, subject } of accounts)
      await linkIdentity(ctx, user.id, {
        connection_id: connection.id,
        generation: connection.generation,
        subject,
        email: null,
        claims: {},
      });
    if (status === undefined || status === user.status) return;
    await (status === 'blocked' ? blockUser(ctx, actor, user) : unblockUser(ctx, actor, user));
  }

  /** Changes a user who is there, as `PATCH /api/users/{id}` would, where the row says anything else. */
  async update(user: UserRow, row: ResolvedRow, held: readonly string[]): Promise<void> {
    const shown = attributesOf(this.call, users, user as unknown as ResourceRow);
    // Who has signed in here, or whose password was set or ended here, keeps what they have: it may not be the old system's person (specification 4.5.6).
    const untouched =
      user.login_count === 0 &&
      (user.password_hash === null ? user.password_changed_at === null : !this.call.ctx.crypto.passwords.isOwn(user.password_hash));
    const differs = ([name, value]: [string, unknown]) =>
      name !== 'email' && !isDeepStrictEqual(shown[name], value) && (name !== 'pending_migration' || value !== true || untouched);
    const attributes = Object.fromEntries(Object.entries(row.input).filter(differs));
    const renews = untouched && row.hash !== undefined && row.hash !== user.password_hash;
    const regrants = row.roles !== undefined && !isDeepStrictEqual([...row.roles].sort(), [...held].sort());
    if (
      Object.keys(attributes).length === 0 &&
      !renews &&
      !regrants &&
      row.accounts.length === 0 &&
      (row.status ?? user.status) === user.status
    ) {
      this.counts.unchanged_count += 1;
      return;
    }
    try {
      await savepoint(this.call.ctx, (ctx) =>
        new Batch({ ...this.call, ctx }, this.job).#change(user, row, { attributes, renews, regrants }),
      );
      this.counts.updated_count += 1;
    } catch (error) {
      this.refuse(row.line, problemsOf(error));
    }
  }

  async #change(
    user: UserRow,
    row: ResolvedRow,
    { attributes, renews, regrants }: { attributes: ResourceRow; renews: boolean; regrants: boolean },
  ): Promise<void> {
    const data = {
      type: 'user',
      id: user.id,
      attributes: { ...attributes, ...(renews && { password_hash: row.hash }) },
      ...(regrants && { relationships: { roles: { data: row.granted.map(({ id }) => ({ type: 'role', id })) } } }),
    };
    const write = { kind: 'update', resource: users, id: user.id, document: { data } } as const;
    const { ctx, actor } = this.call;
    if (row.accounts.length > 0 || (row.status ?? user.status) !== user.status) {
      // Who signs in as the user, and whether: it takes all that the user may do, as a change of the address does.
      const reach = await reachOfUser(ctx, user.id);
      requireReach(actor, {
        before: reach,
        after: reach,
        touched: [{ touch: 'control', at: { attribute: row.accounts.length > 0 ? 'identities' : 'status' } }],
      });
    }
    const { row: changed } = await perform(this.call, { ...write, ...(renews && { prepared: row.hash }) });
    await this.#attach(changed as unknown as UserRow, { ...row, accounts: [] });
    for (const { connection, subject } of row.accounts) {
      const account = { connection_id: connection.id, generation: connection.generation, subject, email: null, claims: {} };
      await linkToAccount(ctx, user, account, { provider: connection.display_name, origin: noOrigin });
    }
  }
}

/** Writes a batch of rows within a transaction, by the operations behind `POST` and `PATCH /api/users`, as the maker of the import. */
export async function writeBatch(
  call: Call,
  job: UserImportRow,
  rows: readonly ImportRow[],
): Promise<Omit<BatchResult, 'row_count' | 'failed_count'>> {
  const { scope } = call.ctx;
  const batch = new Batch(call, job);
  const turn = turns();
  const named = await recordsNamedIn(call, rows);
  const found = new Map((await findUsersByEmailKeys(scope, rows.map((row) => row.email_key))).map((user) => [user.email_key, user])); // prettier-ignore
  const keys = await RowKeys.before(scope, job, rows);
  const fresh: ResolvedRow[] = [];
  const existing: { user: UserRow; row: ResolvedRow }[] = [];
  for (const row of rows) {
    await turn();
    const user = found.get(row.email_key);
    const resolved = resolveRow(row, named, user?.id ?? null);
    if (!('line' in resolved)) {
      batch.refuse(row.line, resolved);
      continue;
    }
    if (user && job.mode === 'create') {
      batch.refuse(row.line, [rowProblem('already_exists', '/email', 'There is a user with this address already.')]);
      continue;
    }
    const again = keys.take(row);
    if (again !== null) batch.refuse(row.line, [rowProblem('already_exists', again, 'It stands in the file once more, before this.')]);
    else if (user) existing.push({ user, row: resolved });
    else fresh.push(resolved);
  }
  await batch.create(fresh);
  const roles = await listRoleNamesOfUsers(scope, existing.map(({ user }) => user.id)); // prettier-ignore
  for (const { user, row } of existing) {
    await turn();
    const held = roles.filter((one) => one.user_id === user.id).map(({ name }) => name);
    await batch.update(user, row, held);
  }
  return { ...batch.counts, errors: batch.errors };
}
