import type { Request } from 'express';
import { secondStepMethods, type SecondStepMethod } from '../../domain/sign-ins/second-step.js';
import { enabledConnections, requiredConnectionFor, tellsAuthTime } from '../../domain/connections/connections.js';
import { listIdentities } from '../../domain/connections/identities.js';
import { reaches, type AuthenticationClass } from '../../domain/proofs/classes.js';
import { proofNow, proofsOf, withProofs, type SessionProof } from '../../domain/proofs/proofs.js';
import { sessionOf } from '../auth/browser-session.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import type { PageConnection } from '../pages/page-models.js';

/** The ways in which somebody signed in can show that it is still them. */
export type WaysToProve = {
  readonly password: boolean;
  /** Factors of theirs, last used first. */
  readonly methods: readonly Exclude<SecondStepMethod, 'email'>[];
  readonly connections: readonly PageConnection[];
  /** Whether a password can be had by mail: not where one connection is the only way in. */
  readonly by_mail: boolean;
  /** The class is one that nothing of theirs reaches: a factor has to be enrolled first. */
  readonly enroll: boolean;
};

const firstSteps: readonly SessionProof['method'][] = ['password', 'provider'];

/** The methods that bring the session to the class: alone, or, where its first step is too weak for it, with a password beside them. */
function methodsFor(offered: readonly SecondStepMethod[], demanded: AuthenticationClass): WaysToProve['methods'] {
  const own = offered.filter((method): method is Exclude<SecondStepMethod, 'email'> => method !== 'email');
  return demanded === 'phr' ? own.filter((method) => method === 'passkey') : own;
}

/** What of the first step is missing: a code alone lifts no session that began with a code by mail. */
const lacksFirstStep = (proofs: readonly SessionProof[], demanded: AuthenticationClass, now: Date): boolean =>
  demanded !== '1' &&
  !reaches(withProofs(proofs, [proofNow('totp', now)]), '2') &&
  !proofs.some(({ method }) => firstSteps.includes(method));

/** Connections of theirs that say when somebody signed in there; the others prove nothing of now. */
async function connectionsOf(req: Request, required: { readonly id: string } | null): Promise<PageConnection[]> {
  const { ctx } = req;
  const identities = await listIdentities(ctx, sessionOf(req).user_id);
  const linked = new Set(identities.filter(({ proven }) => proven).map(({ connection_id }) => connection_id));
  return (await enabledConnections(ctx))
    .filter((connection) => linked.has(connection.id) && tellsAuthTime(connection) && (required === null || required.id === connection.id))
    .map(({ id, display_name, strategy }) => ({ id, display_name, strategy: strategy as PageConnection['strategy'] }));
}

/** The ways of the signed-in person to a proof of the class, beside the proofs that count already. */
export async function waysToProve(req: Request, demanded: AuthenticationClass, proofs = proofsOf(sessionOf(req))): Promise<WaysToProve> {
  const { ctx } = req;
  const session = sessionOf(req);
  const user = (await findUser(ctx.scope, session.user_id)) as UserRow;
  const required = await requiredConnectionFor(ctx, session.user_email);
  const offered = user.authenticator_kinds.length === 0 ? [] : await secondStepMethods(ctx, user, proofs);
  const methods = methodsFor(offered, demanded);
  const withFirst = demanded === '1' || lacksFirstStep(proofs, demanded, ctx.clock.now());
  return {
    password: withFirst && required === null && user.password_hash !== null,
    methods,
    connections: withFirst ? await connectionsOf(req, required) : [],
    by_mail: withFirst && required === null,
    enroll: demanded !== '1' && !methods.some((method) => method === 'passkey' || (method === 'totp' && demanded === '2')),
  };
}

/** Where somebody signs in once more through a connection, and comes back from. */
export const provePath = (connection: Pick<PageConnection, 'id'>, return_to: string): string =>
  `/auth/sso/${connection.id}?${new URLSearchParams({ prompt: 'login', return_to }).toString()}`;
