import { countAdministratorFactors } from '../db/tables/factor_counts.js';
import type { Call } from '../management/call.js';
import type { Part } from './page-parts.js';
import { may } from './resource-objects.js';
import { fill, sentences, terms } from './words.js';

/** A warning for the overview and the settings while an administrator of a production environment has neither a passkey nor an authenticator app. */
export async function factorNotice(call: Call): Promise<Part[]> {
  const { ctx, actor } = call;
  if (ctx.environment.kind !== 'production' || !may(call, 'users', 'read')) return [];
  const { people, without, viewer_without } = await countAdministratorFactors(ctx.scope, actor.actor_id ?? '');
  if (without === 0) return [];
  const who = people === 1 ? terms.the_administrator_signs_in : without === 1 ? fill(terms.one_administrator_signs_in, { people }) : fill(terms.administrators_sign_in, { without, people }); // prettier-ignore
  const text = fill(sentences.who_with_one_factor_whoever, { who });
  const own = { label: terms.add_yours, path: '/account/authenticators' };
  return [{ kind: 'notice', tone: 'warning', text }, ...(viewer_without ? [{ kind: 'buttons' as const, links: [own], posts: [] }] : [])];
}
