import { countAdministratorFactors } from '../../../db/tables/factor_counts.js';
import type { Call } from '../../../management/call.js';
import type { Part } from '../../parts/page-parts.js';
import { may } from '../../parts/records/objects.js';

/** A warning for the overview and the settings while an administrator of a production environment has neither a passkey nor an authenticator app. */
export async function factorNotice(call: Call): Promise<Part[]> {
  const { ctx, actor } = call;
  if (ctx.environment.kind !== 'production' || !may(call, 'users', 'read')) return [];
  const { people, without, viewer_without } = await countAdministratorFactors(ctx.scope, actor.actor_id ?? '');
  if (without === 0) return [];
  const who = people === 1 ? 'The administrator signs in' : without === 1 ? `1 of ${people} administrators signs in` : `${without} of ${people} administrators sign in`; // prettier-ignore
  const text = `${who} with one factor: anyone who learns that password controls this environment. Adding a passkey or an authenticator app takes a minute.`;
  const own = { label: 'Add yours', path: '/account/authenticators' };
  return [{ kind: 'notice', tone: 'warning', text, ...(viewer_without ? { link: own } : {}) }];
}
