import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { forgetAuthorizations, holdUnused, listUnusedAuthorizations } from '../db/tables/authorizations.js';
import { findClient } from '../db/tables/clients.js';
import { findUser } from '../db/tables/users.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { recordSecurityEvent } from '../domain/audit/security-trail.js';
import { createContext, transaction, type Deps } from '../domain/context.js';
import { findServedEnvironment } from '../domain/environments/environments.js';
import { mailModel } from '../domain/grants/agent-mails.js';
import { withdrawConsent } from '../domain/grants/authorizations.js';
import { queueMail } from '../domain/mail/mail.js';
import { noOrigin } from '../domain/origin.js';
import { forEachRecord } from './each-record.js';

const dayMs = 86_400_000;
const pauseMs = 600_000;
const batch = 500;

/**
 * One pass over authorizations that slept longer than `unused_authorization_lifetime`: each ends as if the person had revoked it, who is told by mail. Clients that nobody was asked about,
 * and that hold nothing any more, are forgotten. One replica at a time. @returns how many ended
 */
export async function unusedAuthorizationPass(deps: Deps, signal?: AbortSignal): Promise<number> {
  let ended = 0;
  await tryAdvisoryLock(deps.db.knex, 'unused_authorizations', async () => {
    const now = deps.clock.now();
    const unused = await listUnusedAuthorizations(deps.db.knex, now, batch);
    const work = async (row: (typeof unused)[number]) => {
      const environment = await findServedEnvironment(deps, row.environment_id);
      const lifetime = environment?.unused_authorization_lifetime ?? null;
      if (!environment || lifetime === null) return;
      await transaction(createContext(deps, environment), async (tx) => {
        if (!(await holdUnused(tx.scope, row, new Date(now.getTime() - lifetime * 1000)))) return;
        await withdrawConsent(tx, row.user_id, row.client_id, undefined, 'unused');
        const [user, client] = [await findUser(tx.scope, row.user_id), await findClient(tx.scope, row.client_id)];
        if (!user || !client) return;
        const actor = { actor_kind: 'system', actor_id: null, display: null } as const;
        const target = { target_type: 'client', target_id: client.id };
        await recordSecurityEvent(tx, 'authorization.expired', { actor, target, origin: noOrigin, detail: { user_id: user.id } });
        const { email: to, locale } = user;
        await queueMail(tx, { template: 'authorization_ended', to, locale, model: mailModel(tx, client), origin: noOrigin });
        ended += 1;
      });
    };
    await forgetAuthorizations(deps.db.knex, new Date(now.getTime() - dayMs), now, batch);
    await forEachRecord(unused, work, signal);
  });
  return ended;
}

export const startUnusedAuthorizations = (deps: Deps): Loop =>
  startLoop({
    name: 'unused_authorizations',
    pauseMs,
    logger: deps.logger,
    pass: async (signal) => ((await unusedAuthorizationPass(deps, signal)) === batch ? 'more' : 'done'),
  });
