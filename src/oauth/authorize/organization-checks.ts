import { needsOtherSignIn } from '../../domain/organizations/admission.js';
import { refuseInteraction, type Interaction, type InteractionInput } from './interaction-check.js';

/** The organization that the sign-in is for: chosen by the person where the request leaves that open, and one that lets the person in. */
export function organizationKnown({ request: { organization_choice: choice }, session, silent }: InteractionInput): Interaction | null {
  if (choice.kind === 'choose')
    return silent
      ? refuseInteraction('interaction_required', 'the person has to choose an organization', 'organization_open')
      : { kind: 'choose', session, options: choice.options };
  if (choice.kind !== 'refused') return null;
  return silent
    ? refuseInteraction('access_denied', 'the person can not sign in for this organization', 'not_a_member')
    : { kind: 'no_member', session };
}

/** A sign-in through a connection of the organization where it wants that, and another one where this session is good for others alone. */
export async function goodForOrganization({ ctx, request, session, silent }: InteractionInput): Promise<Interaction | null> {
  if (!(await needsOtherSignIn(ctx, session, request.organization))) return null;
  if (silent) return refuseInteraction('login_required', 'the organization wants another sign-in');
  return { kind: 'login', fresh: true, again: true };
}
