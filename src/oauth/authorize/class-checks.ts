import { isClass, type AuthenticationClass } from '../../domain/sessions/classes.js';
import { proofsOf } from '../../domain/sessions/proofs.js';
import { dueOfSession, factorStateOf } from '../../domain/sign-ins/session-step.js';
import { stepUpTo, wishedStep } from '../../domain/sign-ins/step-up.js';
import { refuse, type Asking, type Interaction } from './asking.js';
import { essentialClasses, wishedClasses } from './requested-classes.js';

const step = (stage: 'verify' | 'enroll', acr: AuthenticationClass, wished = false): Interaction => ({ kind: 'step', stage, acr, wished });

/** A second step that the policy or the person's two-step asks for, of a session that is older than they are. */
export async function secondStepTaken(asking: Asking): Promise<Interaction | null> {
  const due = await dueOfSession(asking.ctx, asking.session);
  if (due === 'none') return null;
  if (asking.silent) return refuse('login_required', 'a second step is due');
  return due === 'enroll' ? step('enroll', '2') : step('verify', '1');
}

const asPerson = ({ ctx, session, fresh }: Asking) => ({ ctx, user: factorStateOf(session), proofs: proofsOf(session), fresh });

/** Asks for what is missing of one of the classes, and refuses where there is no way to any of them. */
function reach(asking: Asking, demanded: readonly AuthenticationClass[], description: string): Interaction | null {
  const unmet = () => refuse('unmet_authentication_requirements', description);
  if (demanded.length === 0) return unmet();
  const { way, acr } = stepUpTo(asPerson(asking), demanded);
  if (way === 'none') return null;
  if (way === 'never') return unmet();
  if (asking.silent) return refuse('login_required', 'a sign-in of a higher class was asked for');
  return way === 'sign_in' ? { kind: 'login', fresh: true } : step(way, acr);
}

/** An essential `acr` claim: one of its values, or none at all where no value is a class of ours. */
export function essentialReached(asking: Asking): Interaction | null {
  const values = essentialClasses(asking.request);
  return values && reach(asking, values.filter(isClass), 'the essential acr value is not available');
}

/** `required_acr` of the client or the API resource. */
export function requiredReached(asking: Asking): Interaction | null {
  const { acr } = asking.demand;
  return acr && reach(asking, [acr], 'the class of sign-in that is required here is not available');
}

/** `acr_values`: asked for once, of somebody who has the factors; nobody is refused for it. */
export function wishedReached(asking: Asking): Interaction | null {
  if (asking.silent || asking.wished) return null;
  const found = wishedStep(asPerson(asking), wishedClasses(asking.request));
  return found?.way === 'verify' ? step('verify', found.acr, true) : null;
}
