// What a proof uses up is spent with what it opens: a failure between the two costs nobody a code, and of two at once one opens it.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../../src/domain/context.js';
import { addPasskey } from '../../../src/domain/authenticators/enrolment.js';
import { creationOptions, verifyNewPasskey } from '../../../src/domain/authenticators/passkey-registration.js';
import { requestOptions } from '../../../src/domain/authenticators/passkey-sign-in.js';
import { listCapturedMails } from '../../../src/domain/mail/mail.js';
import { noOrigin } from '../../../src/domain/origin.js';
import { proofNow } from '../../../src/domain/proofs/proofs.js';
import { startSignIn } from '../../../src/domain/sessions/half-sign-ins.js';
import { findBrowserSession, startSession } from '../../../src/domain/sessions/sessions.js';
import { advance } from '../../../src/domain/sign-ins/advance.js';
import type { Browser } from '../../../src/domain/sign-ins/browser-session.js';
import type { CurrentSignIn } from '../../../src/domain/sign-ins/current.js';
import { sendSecondStepCode, startEmailSignIn } from '../../../src/domain/sign-ins/email-codes.js';
import type { PresentedProof } from '../../../src/domain/sign-ins/proof-methods.js';
import { findUser, type UserRow } from '../../../src/db/tables/users.js';
import { addUser } from '../../support/data.js';
import { giveTotp, totpCode } from '../../support/factors.js';
import { sharedContext } from '../../support/shared-context.js';
import { SoftwareAuthenticator } from '../../support/software-authenticator.js';

const shared = sharedContext();
let ctx: Context;
let user: UserRow;
let host: string;
beforeEach(async () => {
  ctx = { ...shared, environment: { ...shared.environment, email_second_factor_enabled: true, email_code_sign_in_enabled: true } };
  ({ host } = new URL(ctx.environment.issuer));
  user = await addUser(ctx);
});

const browserOf = (): Browser => ({ session: null, device: null, secret: 'b', host, origin: noOrigin });
const reread = async () => (user = (await findUser(ctx.scope, user.id)) as UserRow);

async function mailedCode(): Promise<string> {
  const [mail] = await listCapturedMails(ctx, user.email);
  return /\b\d{6}\b/.exec(mail?.text ?? '')?.[0] ?? '';
}

async function ownPasskey(): Promise<SoftwareAuthenticator> {
  const authenticator = new SoftwareAuthenticator();
  const making = { purpose: 'enroll', browser: 'b', user: { id: user.id, email: user.email, name: 'Ada' }, exclude: [] } as const;
  const credential = authenticator.create(await creationOptions(ctx, making), { origin: ctx.environment.issuer });
  const verified = await verifyNewPasskey(ctx, { ...making, user_id: user.id, host, credential });
  if (verified.outcome !== 'verified') throw new Error(verified.outcome);
  await addPasskey(ctx, { user_id: user.id, passkey: verified.passkey, name: 'Laptop', origin: noOrigin });
  await reread();
  return authenticator;
}

/** What is presented, and for what. */
type Presented = { readonly current: CurrentSignIn | null; readonly proof: PresentedProof };

const half = async () =>
  (await startSignIn(ctx, { user_id: user.id, stage: 'verify', proofs: [proofNow('password', ctx.clock.now())] })).sign_in;

async function session(): Promise<CurrentSignIn> {
  const proofs = [proofNow('password', ctx.clock.now())];
  const { token } = await startSession(ctx, { user_id: user.id, proofs, ip_address: null, user_agent: null });
  return (await findBrowserSession(ctx, token)) as CurrentSignIn;
}

async function totp(current: () => Promise<CurrentSignIn>): Promise<Presented> {
  const { secret } = await giveTotp(ctx, user.id);
  await reread();
  return { current: await current(), proof: { method: 'totp', code: totpCode(secret, ctx.clock.now()) } };
}

async function mailed(): Promise<Presented> {
  const address = { email: user.email, email_key: user.email_key };
  const { sign_in_id } = await startEmailSignIn(ctx, address, 'b', noOrigin);
  return { current: null, proof: { method: 'email', sign_in_id, code: await mailedCode() } };
}

const ways: Readonly<Record<string, () => Promise<Presented>>> = {
  'a mailed code as the first step': mailed,
  'a mailed code that proves the address': async () => {
    user = await addUser(ctx, { email_verified: false });
    return mailed();
  },
  'a passkey as the first step': async () => {
    const authenticator = await ownPasskey();
    const options = await requestOptions(ctx, { purpose: 'sign_in', browser: 'b', user_id: null });
    return { current: null, proof: { method: 'passkey', credential: authenticator.get(options, { origin: ctx.environment.issuer }) } };
  },
  'a mailed code as the second': async () => {
    const current = await half();
    await sendSecondStepCode(ctx, user, current, noOrigin);
    return { current, proof: { method: 'email', code: await mailedCode() } };
  },
  'a passkey as the second': async () => {
    const authenticator = await ownPasskey();
    const options = await requestOptions(ctx, { purpose: 'second_step', browser: 'b', user_id: user.id });
    const credential = authenticator.get(options, { origin: ctx.environment.issuer });
    return { current: await half(), proof: { method: 'passkey', credential } };
  },
  'a TOTP': () => totp(half),
  'a recovery code': async () => {
    const { recovery_codes } = await giveTotp(ctx, user.id);
    await reread();
    return { current: await half(), proof: { method: 'recovery_code', code: recovery_codes[0] ?? '' } };
  },
  'a TOTP that confirms a session': () => totp(session),
};

const present = ({ current, proof }: Presented) => advance(ctx, current, proof, browserOf());
const outcomeOf = async (presented: Presented) => (await present(presented)).outcome;
/** Sessions of the user that a login made; the one that is confirmed has none. */
const logins = async () => (await reread()).login_count;

async function whileNoRowIsWritten<T>(name: string, work: () => Promise<T>): Promise<T> {
  await ctx.db.knex.raw(`alter table ${name} add constraint no_rows check (false) not valid`);
  try {
    return await work();
  } finally {
    await ctx.db.knex.raw(`alter table ${name} drop constraint no_rows`);
  }
}

describe.each(Object.entries(ways))('%s', (name, make) => {
  const whole = name.includes('confirms') ? 'confirmed' : 'signed_in';

  test('is still good when the session could not be written', async () => {
    const presented = await make();
    await whileNoRowIsWritten('sessions', () => expect(present(presented)).rejects.toThrow('no_rows'));
    expect(await outcomeOf(presented)).toBe(whole);
  });

  test('makes one session, of three at once, and none later (attack 25.1128)', async () => {
    const presented = await make();
    // Each with a half sign-in of its own, as in three browsers, unless the code is bound to one.
    const isFree = presented.proof.method !== 'email' && presented.current !== null && whole !== 'confirmed';
    const another = async (): Promise<Presented> => (isFree ? { ...presented, current: await half() } : presented);
    const three = await Promise.all([another(), another(), another()]);
    const outcomes = await Promise.all(three.map((one) => present(one).catch((error: Error) => ({ outcome: error.message }))));
    expect(outcomes.filter(({ outcome }) => outcome === whole)).toHaveLength(1);
    expect(await logins()).toBe(whole === 'confirmed' ? 0 : 1);
    expect(['expired', 'wrong']).toContain(await outcomeOf(await another()));
  });
});

test('a mailed code is still good when the half sign-in that it begins could not be written', async () => {
  await giveTotp(ctx, user.id);
  await reread();
  const presented = await mailed();
  await whileNoRowIsWritten('sign_ins', () => expect(present(presented)).rejects.toThrow('no_rows'));
  expect(await outcomeOf(presented)).toBe('asked');
  expect(await outcomeOf(presented)).toBe('expired');
});

test('whoever comes second with a TOTP is counted as with a wrong one', async () => {
  const presented = await totp(half);
  expect(await outcomeOf(presented)).toBe('signed_in');
  expect(await present({ ...presented, current: await half() })).toEqual({ outcome: 'wrong', attempts_left: 4 });
});
