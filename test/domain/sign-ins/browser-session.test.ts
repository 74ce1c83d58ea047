// What a change of the account in the middle of a sign-in leaves of it: nothing.
import { expect, test } from 'vitest';
import { noOrigin } from '../../../src/domain/origin.js';
import { proofNow, providerProof } from '../../../src/domain/proofs/proofs.js';
import { openBrowserSession, type Browser } from '../../../src/domain/sign-ins/browser-session.js';
import { SignInOver, startSignIn } from '../../../src/domain/sessions/half-sign-ins.js';
import { updateConnection } from '../../../src/db/tables/connections.js';
import { deleteUser, findUser, updateUser } from '../../../src/db/tables/users.js';
import { addConnection } from '../../support/connections.js';
import { addUser } from '../../support/data.js';
import { startTestService } from '../../support/service.js';
import { sharedService } from '../../support/shared-service.js';

const service = sharedService(() => startTestService());
const browser: Browser = { session: null, device: null, secret: '', host: undefined, origin: noOrigin };

test.each(['blocked', 'deleted', 'with another password', 'of a half sign-in that has ended'] as const)(
  'a user %s meanwhile gets no session, and no login is counted (specification 4.12.10)',
  async (change) => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const proofs = [proofNow('password', ctx.clock.now())];
    const { sign_in } = await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs });
    const whole = { user, proofs, proven_hash: user.password_hash, completes: sign_in };
    if (change === 'blocked') await updateUser(ctx.scope, user.id, { status: 'blocked' });
    if (change === 'deleted') await deleteUser(ctx.scope, user.id);
    if (change === 'with another password') await updateUser(ctx.scope, user.id, { password_hash: `${user.password_hash}x` });
    const ended = change === 'of a half sign-in that has ended';
    if (ended) await openBrowserSession(ctx, whole, browser);
    await expect(openBrowserSession(ctx, whole, browser)).rejects.toEqual(new SignInOver(ended ? 'expired' : 'overtaken'));
    const counted = ended ? 1 : 0;
    expect(await ctx.scope.knex('sessions').where({ user_id: user.id })).toHaveLength(counted);
    expect((await findUser(ctx.scope, user.id))?.login_count ?? 0).toBe(counted);
  },
);

test.each(['provider', 'password'] as const)(
  'a %s first, and an account at a connection that ends meanwhile (attack 25.1129)',
  async (first) => {
    const ctx = await service.context();
    const [user, { id, generation }] = [await addUser(ctx), await addConnection(ctx, { issuer: 'https://corp.example' })];
    const proofs = [first === 'provider' ? providerProof(ctx.clock.now(), null) : proofNow('password', ctx.clock.now())];
    const account = { connection_id: id, generation, subject: user.id, email: null, claims: {} };
    const whole = { user, proofs, provider_account: { account, provider: 'Corp', by_word: false } };
    await updateConnection(ctx.scope, id, { status: 'disabled' });
    const outcome = await openBrowserSession(ctx, whole, browser).catch((error: unknown) => error);
    if (first === 'provider') expect(outcome).toEqual(new SignInOver('overtaken'));
    else expect(outcome).toMatchObject({ outcome: 'signed_in' });
    expect(await ctx.scope.knex('sessions').where({ user_id: user.id })).toHaveLength(first === 'provider' ? 0 : 1);
  },
);
