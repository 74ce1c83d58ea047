import { isClass, type AuthenticationClass } from '../../domain/proofs/classes.js';
import { proofsOf } from '../../domain/proofs/proofs.js';
import { stepRequiredOfSession, factorStateOf } from '../../domain/sign-ins/session-step.js';
import { stepUpTo, wishedStep } from '../../domain/sign-ins/step-up.js';
import { refuseInteraction, type InteractionInput, type Interaction } from './interaction-check.js';
import { essentialClasses, wishedClasses } from './requested-classes.js';

const step = (stage: 'verify' | 'enroll', acr: AuthenticationClass, wished = false): Interaction => ({ kind: 'step', stage, acr, wished });

/** A second step that the policy or the person's two-step asks for, of a session that is older than they are. */
export async function secondStepTaken(input: InteractionInput): Promise<Interaction | null> {
  const next = await stepRequiredOfSession(input.ctx, input.session);
  if (next === 'none') return null;
  if (input.silent) return refuseInteraction('login_required', 'a second step is due');
  return next === 'enroll' ? step('enroll', '2') : step('verify', '1');
}

const asPerson = ({ ctx, session, fresh }: InteractionInput) => ({ ctx, user: factorStateOf(session), proofs: proofsOf(session), fresh });

/** Asks for what is missing of one of the classes, and refuses where there is no way to any of them. */
function reach(input: InteractionInput, demanded: readonly AuthenticationClass[], description: string): Interaction | null {
  const unmet = () => refuseInteraction('unmet_authentication_requirements', description);
  if (demanded.length === 0) return unmet();
  const { way, acr } = stepUpTo(asPerson(input), demanded);
  if (way === 'none') return null;
  if (way === 'never') return unmet();
  if (input.silent) return refuseInteraction('login_required', 'a sign-in of a higher class was asked for');
  return way === 'sign_in' ? { kind: 'login', fresh: true } : step(way, acr);
}

/** An essential `acr` claim: one of its values, or none at all where no value is a class of ours. */
export function essentialReached(input: InteractionInput): Interaction | null {
  const values = essentialClasses(input.request);
  return values && reach(input, values.filter(isClass), 'the essential acr value is not available');
}

/** `required_acr` of the client or the API resource. */
export function requiredReached(input: InteractionInput): Interaction | null {
  const { acr } = input.requirement;
  return acr && reach(input, [acr], 'the class of sign-in that is required here is not available');
}

/** `acr_values`: asked for once, of somebody who has the factors; nobody is refused for it. */
export function wishedReached(input: InteractionInput): Interaction | null {
  if (input.silent || input.wished) return null;
  const found = wishedStep(asPerson(input), wishedClasses(input.request));
  return found?.way === 'verify' ? step('verify', found.acr, true) : null;
}
