// What ends with what: removing a factor, losing all of them, a new password, a block; and who may do it to whom.
import { TOTP } from 'otpauth';
import { beforeEach, describe, expect, test } from 'vitest';
import { transaction, type Context } from '../../../src/domain/context.js';
import type { Actor } from '../../../src/domain/actor.js';
import { managementPermissions } from '../../../src/domain/reach/management-permissions.js';
import { addPasskey, activateTotpOf, startTotp, type EnrolmentBasis } from '../../../src/domain/authenticators/enrolment.js';
import { importAuthenticator } from '../../../src/domain/credentials/authenticator-import.js';
import { creationOptions, verifyNewPasskey } from '../../../src/domain/authenticators/passkey-registration.js';
import { judgePasskey, requestOptions } from '../../../src/domain/authenticators/passkey-sign-in.js';
import { removeAuthenticator, resetAuthenticators } from '../../../src/domain/credentials/authenticator-removal.js';
import { setTwoStep } from '../../../src/domain/authenticators/two-step.js';
import { unlinkIdentity } from '../../../src/domain/connections/identities.js';
import { listCapturedMails } from '../../../src/domain/mail/mail.js';
import { noOrigin } from '../../../src/domain/origin.js';
import { changePassword } from '../../../src/domain/credentials/password-change.js';
import {
  completePasskeyRegistration,
  findProvenRegistration,
  startRegistration,
  userIdOf,
  verifyRegistration,
} from '../../../src/domain/registration/registration.js';
import { proofNow, type SessionProof } from '../../../src/domain/proofs/proofs.js';
import { addProofs, endSessions, startSession } from '../../../src/domain/sessions/sessions.js';
import { rememberBrowser, rememberedProof } from '../../../src/domain/sessions/remembered-browsers.js';
import { nextStep, noteFactorRequired } from '../../../src/domain/authenticators/next-step.js';
import { findHalfSignIn, startSignIn } from '../../../src/domain/sessions/half-sign-ins.js';
import { endTrust } from '../../../src/domain/sessions/trust.js';
import { blockUser } from '../../../src/domain/users/blocking.js';
import { changeUser, hashOf } from '../../../src/domain/users/users.js';
import { listAuthenticatorsOfUser } from '../../../src/db/tables/authenticators.js';
import { findRoleByName, addUserRoles } from '../../../src/db/tables/roles.js';
import { findSession } from '../../../src/db/tables/sessions.js';
import { findUser, updateUser, type UserRow } from '../../../src/db/tables/users.js';
import { addUser, password } from '../../support/data.js';
import { sharedContext } from '../../support/shared-context.js';
import { SoftwareAuthenticator } from '../../support/software-authenticator.js';

const ctx = sharedContext();
const device = { id: 'device-id-of-256-random-bits', users: [] };
const administrator: Actor = { actor_kind: 'client', actor_id: 'root', display: 'root', permissions: new Set(managementPermissions) };
let user: UserRow;

const reload = async () => (user = (await findUser(ctx.scope, user.id)) as UserRow);
const withSettings = (settings: Partial<Context['environment']>): Context => ({ ...ctx, environment: { ...ctx.environment, ...settings } });
const subjects = async () => (await listCapturedMails(ctx, user.email)).map(({ subject }) => subject);
const remove = (id: string, by: 'user' | 'administrator' = 'user', of: Context = ctx) =>
  transaction(of, (tx) => removeAuthenticator(tx, { user_id: user.id, id }, { by, origin: noOrigin }));

async function enrollTotp(): Promise<string> {
  const started = await startTotp(ctx, { user_id: user.id, name: 'Phone' });
  if (started.outcome !== 'started') throw new Error(started.outcome);
  const code = new TOTP({ secret: started.secret }).generate({ timestamp: ctx.clock.now().getTime() });
  await activateTotpOf(ctx, user.id, { authenticator_id: started.authenticator_id, code }, noOrigin);
  await reload();
  return started.authenticator_id;
}

async function enrollPasskey(discoverable = true): Promise<string> {
  const origin = ctx.environment.issuer;
  const use = { purpose: 'enroll', browser: 'b' } as const;
  const options = await creationOptions(ctx, { ...use, user: { id: user.id, email: user.email, name: 'Ada' }, exclude: [] });
  const credential = new SoftwareAuthenticator().create(options, { origin, discoverable });
  const verdict = await verifyNewPasskey(ctx, { ...use, user_id: user.id, host: new URL(origin).host, credential });
  if (verdict.outcome !== 'verified') throw new Error(verdict.outcome);
  const added = await addPasskey(ctx, { user_id: user.id, passkey: verdict.passkey, name: 'Laptop', origin: noOrigin });
  if (added.outcome !== 'added') throw new Error(added.outcome);
  await reload();
  return added.authenticator.id;
}

/** What rests on the password and the factors: a half sign-in, and a remembered browser. */
async function trust() {
  const { token } = await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [] });
  await rememberBrowser(ctx, device, user.id, noOrigin);
  return {
    half: async () => (await findHalfSignIn(ctx, token)) !== null,
    remembered: async () => (await rememberedProof(ctx, device, user.id)) !== null,
  };
}

beforeEach(async () => {
  user = await addUser(ctx, { password_hash: await ctx.crypto.passwords.hash(password) });
});

describe('removing an authenticator', () => {
  test('the last factor takes two-step and the codes along, and forgets browsers; the owner is told', async () => {
    const [totp, passkey] = [await enrollTotp(), await enrollPasskey()];
    const { remembered } = await trust();
    expect(await remembered()).toBe(true);
    expect(await remove(totp)).toMatchObject({ outcome: 'removed' });
    expect(await remembered()).toBe(false);
    expect(await reload()).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['passkey', 'recovery_codes'] });
    expect(await remove(passkey)).toMatchObject({ outcome: 'removed' });
    expect(await reload()).toMatchObject({ two_step_enabled: false, authenticator_kinds: [] });
    expect(await subjects()).toEqual(
      expect.arrayContaining(['A passkey was removed from your Default account', 'Two-step sign-in is off at Default']),
    );
    expect(await remove(passkey)).toEqual({ outcome: 'not_found' });
  });

  test('the last way in stays; one that is no first step isn’t one (attack 25.523)', async () => {
    const [first, second] = [await enrollPasskey(), await enrollPasskey(false)];
    await updateUser(ctx.scope, user.id, { password_hash: null });
    expect(await remove(first)).toEqual({ outcome: 'last_way_in' });
    expect(await remove(second)).toMatchObject({ outcome: 'removed' });
    expect(await unlinkIdentity(ctx, { user_id: user.id, identity_id: user.id })).toBe('not_found');
  });

  test('what the policy wants stays with the person, not with an administrator', async () => {
    const totp = await enrollTotp();
    const required = withSettings({ second_factor_policy: 'required' });
    expect(await remove(totp, 'user', required)).toEqual({ outcome: 'factor_required' });
    expect(await setTwoStep(required, user.id, false, noOrigin)).toEqual({ outcome: 'factor_required' });
    expect(await remove(totp, 'administrator', required)).toMatchObject({ outcome: 'removed' });
  });

  test('another user’s authenticator is not found', async () => {
    const totp = await enrollTotp();
    user = await addUser(ctx);
    expect(await remove(totp)).toEqual({ outcome: 'not_found' });
  });
});

describe('two-step', () => {
  test('needs a factor; a passkey beside a password only offers it', async () => {
    expect(await setTwoStep(ctx, user.id, true, noOrigin)).toEqual({ outcome: 'factor_missing' });
    await enrollPasskey();
    expect(user.two_step_enabled).toBe(false);
    const changed = await setTwoStep(ctx, user.id, true, noOrigin);
    expect(changed).toMatchObject({ outcome: 'changed', two_step_enabled: true });
    expect(changed.outcome === 'changed' && changed.recovery_codes).toHaveLength(10);
    expect(await setTwoStep(ctx, user.id, false, noOrigin)).toMatchObject({ outcome: 'changed', recovery_codes: null });
  });
});

describe('a new password or a block', () => {
  test('ends half sign-ins and remembered browsers (attack 25.518)', async () => {
    await enrollTotp();
    const changed = await trust();
    const { session } = await startSession(ctx, {
      user_id: user.id,
      proofs: [proofNow('password', ctx.clock.now())],
      ip_address: null,
      user_agent: null,
    });
    const verdict = await changePassword(ctx, session, {
      current_password: password,
      password: 'a wholly new secret',
      origin: noOrigin,
      device: null,
    });
    expect(verdict.outcome).toBe('changed');
    expect([await changed.half(), await changed.remembered()]).toEqual([false, false]);
    const set = await trust();
    await reload();
    const hash = await hashOf(ctx, { password: 'another new secret' }, user);
    await transaction(ctx, (tx) => changeUser(tx, administrator, user, { password: 'another new secret' }, hash));
    expect([await set.half(), await set.remembered()]).toEqual([false, false]);
    const blocked = await trust();
    await transaction(ctx, async (tx) => blockUser(tx, administrator, await reload()));
    expect(await blocked.half()).toBe(false);
  });
});

describe('a reset by an administrator', () => {
  test('removes all and ends all that rested on it; the owner is told, and gets a way to a password where there is none (attack 25.524)', async () => {
    await enrollTotp();
    await enrollPasskey();
    await updateUser(ctx.scope, user.id, { password_hash: null });
    const { half, remembered } = await trust();
    const { session } = await startSession(ctx, {
      user_id: user.id,
      proofs: [proofNow('email', ctx.clock.now())],
      ip_address: null,
      user_agent: null,
    });
    await transaction(ctx, (tx) => resetAuthenticators(tx, administrator, user, noOrigin));
    expect(await listAuthenticatorsOfUser(ctx.scope, user.id)).toEqual([]);
    expect(await reload()).toMatchObject({ two_step_enabled: false, authenticator_kinds: [] });
    expect([await half(), await remembered()]).toEqual([false, false]);
    expect(await findSession(ctx.scope, session.id)).toMatchObject({ revoke_reason: 'authenticators_reset' });
    expect(await subjects()).toEqual(expect.arrayContaining(['Your Default sign-in methods were reset', 'Reset your Default password']));
  });

  test('nobody resets, or moves in for, somebody who may do more (attack 25.525)', async () => {
    const role = await findRoleByName(ctx.scope, 'administrator');
    await addUserRoles(ctx.scope, user.id, [role?.id ?? '']);
    const clerk: Actor = { ...administrator, permissions: new Set(['users:write', 'authenticators:write']) };
    const refused = { problems: [{ status: 403, code: 'scope_escalation' }] };
    await expect(transaction(ctx, (tx) => resetAuthenticators(tx, clerk, user, noOrigin))).rejects.toMatchObject(refused);
    const totp = {
      kind: 'totp',
      name: 'Old',
      secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
      algorithm: 'SHA1',
      digits: 6,
      period: 30,
    } as const;
    await expect(transaction(ctx, (tx) => importAuthenticator(tx, clerk, user.id, totp))).rejects.toMatchObject(refused);
  });
});

describe('what is due', () => {
  const proven: SessionProof[] = [{ method: 'password', authenticator_id: null, at: new Date(0).toISOString() }];
  const due = (of: Context, proofs = proven) => nextStep(of, user, proofs);

  test('nothing of people without factors, whatever they sign in with', async () => {
    expect(await due(ctx)).toEqual({ kind: 'none' });
    expect(await due(withSettings({ second_factor_policy: 'off' }))).toEqual({ kind: 'none' });
  });

  test('a second step where two-step is on, unless the browser is remembered, a passkey was both, or a provider does', async () => {
    await enrollTotp();
    expect(await due(ctx)).toEqual({ kind: 'verify' });
    expect(await due(withSettings({ second_factor_policy: 'off' }))).toEqual({ kind: 'verify' });
    for (const more of [
      { method: 'totp' },
      { method: 'device' },
      { method: 'passkey', user_verified: true },
      { method: 'provider', suffices: true },
    ])
      expect(await due(ctx, [...proven, { ...proven[0], ...more } as SessionProof])).toEqual({ kind: 'none' });
    expect(await due(ctx, [{ ...proven[0], method: 'email' } as SessionProof])).toEqual({ kind: 'verify' });
  });

  test('an enrolment where the policy wants a factor and there is none, put off in the grace time', async () => {
    const required = withSettings({ second_factor_policy: 'required' });
    expect(await due(required)).toEqual({ kind: 'enroll', skip_until: null });
    const graceful = withSettings({ second_factor_policy: 'required', second_factor_grace_lifetime: 3600 });
    const first = await due(graceful);
    expect(first.kind === 'enroll' && first.skip_until).toBeInstanceOf(Date);
    await noteFactorRequired(graceful, user);
    await updateUser(ctx.scope, user.id, { factor_required_since: new Date(ctx.clock.now().getTime() - 3_601_000) });
    await reload();
    expect(await due(graceful)).toEqual({ kind: 'enroll', skip_until: null });
    await enrollPasskey();
    expect(await due(required)).toEqual({ kind: 'verify' });
  });

  test('of holders of a Management permission alone, where the policy says so', async () => {
    const management = withSettings({ second_factor_policy: 'required_for_management' });
    expect(await due(management)).toEqual({ kind: 'none' });
    const role = await findRoleByName(ctx.scope, 'administrator');
    await addUserRoles(ctx.scope, user.id, [role?.id ?? '']);
    expect(await due(management)).toMatchObject({ kind: 'enroll' });
  });
});

test('a step-up adds to what a session rests on, under a new token, and lowers nothing', async () => {
  const now = ctx.clock.now();
  const { session, token } = await startSession(ctx, {
    user_id: user.id,
    proofs: [proofNow('password', now)],
    ip_address: null,
    user_agent: null,
  });
  const up = await transaction(ctx, (tx) => addProofs(tx, session.id, [proofNow('totp', now, user.id)]));
  expect(up?.token).not.toBe(token);
  expect(up?.session).toMatchObject({ id: session.id, acr: '2', amr: ['pwd', 'otp', 'mfa'], authenticated_at: now });
  const again = await transaction(ctx, (tx) => addProofs(tx, session.id, [proofNow('password', new Date(now.getTime() + 1000))]));
  expect(again?.session).toMatchObject({ acr: '2', authenticated_at: now });
});

describe('registration by passkey', () => {
  test('makes the account and its passkey together, with two-step on and recovery codes', async () => {
    const email = `new-${Math.random().toString(36).slice(2)}@example.com`;
    const started = await startRegistration(ctx, { email, email_key: email }, noOrigin);
    const [mail] = await listCapturedMails(ctx, email);
    const verified = await verifyRegistration(ctx, started.id, /\b\d{6}\b/.exec(mail?.text ?? '')?.[0] ?? '');
    const token = verified.outcome === 'right' ? verified.token : '';
    const registration = await findProvenRegistration(ctx, token);
    const id = userIdOf(registration as NonNullable<typeof registration>);
    const authenticator = new SoftwareAuthenticator();
    const origin = ctx.environment.issuer;
    const use = { purpose: 'register', browser: 'b' } as const;
    const options = await creationOptions(ctx, { ...use, user: { id, email, name: 'New' }, exclude: [] });
    const host = new URL(origin).host;
    const made = await verifyNewPasskey(ctx, { ...use, user_id: id, host, credential: authenticator.create(options, { origin }) });
    if (made.outcome !== 'verified') throw new Error(made.outcome);
    const input = { token, first_name: 'New', last_name: 'Person', client_id: null, passkey: made.passkey, origin: noOrigin };
    const foreign = { ...input, passkey: { ...made.passkey, user_handle: 'AAAAAAAAAAAAAAAAAAAAAA' } };
    expect(await completePasskeyRegistration(ctx, foreign)).toEqual({ outcome: 'refused' });
    expect(await findUser(ctx.scope, id)).toBeNull();
    const done = await completePasskeyRegistration(ctx, input);
    expect(done).toMatchObject({ outcome: 'registered', user: { id, password_hash: null, two_step_enabled: true } });
    expect(done.outcome === 'registered' && done.recovery_codes).toHaveLength(10);
    const using = { purpose: 'sign_in', browser: 'b', user_id: null } as const;
    const credential = authenticator.get(await requestOptions(ctx, using), { origin });
    expect(await judgePasskey(ctx, { ...using, host, credential, origin: noOrigin })).toMatchObject({ outcome: 'proven', user: { id } });
    expect(await completePasskeyRegistration(ctx, input)).toEqual({ outcome: 'expired' });
  });
});

describe('moving in', () => {
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const totp = { kind: 'totp', name: 'Old phone', secret, algorithm: 'SHA256', digits: 8, period: 60 } as const;
  const move = (input: Parameters<typeof importAuthenticator>[3]) =>
    transaction(ctx, (tx) => importAuthenticator(tx, administrator, user.id, input));

  test('a TOTP with its own parameters is asked for, and right', async () => {
    const row = await move(totp);
    expect(await reload()).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['totp'] });
    expect(row).toMatchObject({ algorithm: 'SHA256', digits: 8, period: 60, status: 'active' });
    await expect(move({ ...totp, secret: 'no base32!' })).rejects.toMatchObject({ problems: [{ attribute: 'secret' }] });
    await expect(move({ ...totp, secret: 'JBSWY3DP' })).rejects.toMatchObject({ problems: [{ attribute: 'secret' }] });
  });

  test('a passkey signs in under the handle that the other system gave it; a foreign domain and key are refused', async () => {
    const authenticator = new SoftwareAuthenticator();
    const origin = ctx.environment.issuer;
    const elsewhere = { id: '018f0000-0000-7000-8000-00000000abcd', email: user.email, name: 'Ada' };
    const use = { purpose: 'enroll', browser: 'b' } as const;
    const host = new URL(origin).host;
    const options = await creationOptions(ctx, { ...use, user: elsewhere, exclude: [] });
    const made = await verifyNewPasskey(ctx, {
      ...use,
      user_id: elsewhere.id,
      host,
      credential: authenticator.create(options, { origin }),
    });
    if (made.outcome !== 'verified') throw new Error(made.outcome);
    const { credential_id, public_key, rp_id } = made.passkey;
    const passkey = {
      kind: 'passkey',
      name: 'Old key',
      credential_id,
      public_key,
      rp_id,
      sign_count: 0,
      transports: ['internal'],
      backup_eligible: false,
    } as const;
    await expect(move({ ...passkey, transports: [], rp_id: 'evil.example' })).rejects.toMatchObject({ problems: [{ attribute: 'rp_id' }] });
    await expect(move({ ...passkey, transports: [], public_key: 'AAAA' })).rejects.toMatchObject({
      problems: [{ attribute: 'public_key' }],
    });
    await move({ ...passkey, transports: [...passkey.transports] });
    await expect(move({ ...passkey, transports: [] })).rejects.toMatchObject({ problems: [{ status: 409, code: 'already_exists' }] });
    const using = { purpose: 'sign_in', browser: 'b', user_id: null } as const;
    const credential = authenticator.get(await requestOptions(ctx, using), { origin });
    expect(await judgePasskey(ctx, { ...using, host, credential, origin: noOrigin })).toMatchObject({
      outcome: 'proven',
      user: { id: user.id },
    });
  });
});

describe('an enrolment that is under way', () => {
  const endsOn = async (basis: EnrolmentBasis, end: () => Promise<unknown>) => {
    const started = await startTotp(ctx, { user_id: user.id, name: 'Phone' });
    if (started.outcome !== 'started') throw new Error(started.outcome);
    const code = new TOTP({ secret: started.secret }).generate({ timestamp: ctx.clock.now().getTime() });
    await end();
    const { outcome } = await activateTotpOf(ctx, user.id, { authenticator_id: started.authenticator_id, code, basis }, noOrigin);
    return [outcome, (await reload()).authenticator_kinds];
  };
  const half = async () => ({ sign_in_id: (await startSignIn(ctx, { user_id: user.id, stage: 'enroll', proofs: [] })).sign_in.id });

  test('ends with the session or the half sign-in that it rests on, and with another factor (attack 25.642)', async () => {
    const { session } = await startSession(ctx, {
      user_id: user.id,
      proofs: [proofNow('password', ctx.clock.now())],
      ip_address: null,
      user_agent: null,
    });
    expect(
      await endsOn({ session_id: session.id }, () => transaction(ctx, (tx) => endSessions(tx, { user_id: user.id }, 'password_reset'))),
    ).toEqual(['expired', []]);
    expect(await endsOn(await half(), () => transaction(ctx, (tx) => endTrust(tx, user.id)))).toEqual(['expired', []]);
    expect(await endsOn(await half(), enrollPasskey)).toEqual(['expired', ['passkey']]);
  });

  test('goes on while that does', async () =>
    expect(await endsOn(await half(), async () => undefined)).toEqual(['added', ['recovery_codes', 'totp']]));
});
