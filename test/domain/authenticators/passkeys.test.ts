// Passkeys as WebAuthn L3 7.1 and 7.2 want them judged, those steps too that the library leaves to its caller.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Context } from '../../../src/domain/context.js';
import { addPasskey } from '../../../src/domain/authenticators/enrolment.js';
import { creationOptions, verifyNewPasskey, type MakingVerdict } from '../../../src/domain/authenticators/passkey-registration.js';
import {
  judgePasskey,
  requestOptions,
  type PasskeyRequest,
  type PasskeyVerdict,
  type Using,
} from '../../../src/domain/authenticators/passkey-sign-in.js';
import { challengeLifetime, mintChallenge, spendChallenge, type ChallengeUse } from '../../../src/domain/authenticators/challenge.js';
import { findPasskey, listAuthenticatorsOfUser } from '../../../src/db/tables/authenticators.js';
import { findEnvironment } from '../../../src/db/tables/environments.js';
import { findUser, updateUser, type UserRow } from '../../../src/db/tables/users.js';
import { listCapturedMails } from '../../../src/domain/mail/mail.js';
import { noOrigin } from '../../../src/domain/origin.js';
import { addEnvironment, addUser } from '../../support/data.js';
import { sharedContext } from '../../support/shared-context.js';
import { spent } from '../../support/single-use.js';
import { SoftwareAuthenticator, type Behaviour, type Making } from '../../support/software-authenticator.js';

const ctx = sharedContext();
const browser = 'this browser';
let host: string;
let origin: string;
let user: UserRow;
let authenticator: SoftwareAuthenticator;

beforeAll(async () => {
  origin = ctx.environment.issuer;
  host = new URL(origin).host;
});

const at = (seconds: number): Context => ({
  ...ctx,
  clock: { ...ctx.clock, now: () => new Date(ctx.clock.now().getTime() + seconds * 1000) },
});

/** What a page posts after the ceremony, judged. */
async function make(how: Partial<Making> = {}, purpose: 'enroll' | 'register' = 'enroll', judgedAt: Context = ctx): Promise<MakingVerdict> {
  const options = await creationOptions(ctx, { purpose, browser, user: { id: user.id, email: user.email, name: 'Ada' }, exclude: [] });
  const credential = authenticator.create(options, { origin, ...how });
  return verifyNewPasskey(judgedAt, { purpose, browser, user_id: user.id, host, credential });
}

async function enroll(how: Partial<Making> = {}, owner = user): Promise<string> {
  const options = await creationOptions(ctx, {
    purpose: 'enroll',
    browser,
    user: { id: owner.id, email: owner.email, name: 'Ada' },
    exclude: [],
  });
  const credential = authenticator.create(options, { origin, ...how });
  const verdict = await verifyNewPasskey(ctx, { purpose: 'enroll', browser, user_id: owner.id, host, credential });
  if (verdict.outcome !== 'verified') throw new Error(JSON.stringify(verdict));
  const added = await addPasskey(ctx, { user_id: owner.id, passkey: verdict.passkey, name: 'Laptop', origin: noOrigin });
  if (added.outcome !== 'added') throw new Error(added.outcome);
  return credential.id;
}

async function use(how: Partial<Behaviour> = {}, asked: Partial<Using> = {}, presented: Partial<Using> = asked): Promise<PasskeyVerdict> {
  const using: Using = { purpose: 'sign_in', browser, user_id: null, ...asked };
  const credential = authenticator.get(await requestOptions(ctx, using), { origin, ...how });
  return usePasskey(ctx, { ...using, ...presented, host, credential, origin: noOrigin });
}

/** Judges a passkey, and spends what a right one uses up. */
const usePasskey = (at: Context, request: PasskeyRequest): Promise<PasskeyVerdict> => spent(at, judgePasskey(at, request));

const outcomeOf = async (verdict: Promise<PasskeyVerdict | MakingVerdict>) => (await verdict).outcome;

describe('a challenge', () => {
  const whose: ChallengeUse = { purpose: 'confirm', browser, user_id: '018f0000-0000-7000-8000-000000000001' };
  const spend = (given: Partial<ChallengeUse>, challenge = mintChallenge(ctx, whose)) =>
    spendChallenge(ctx, { ...whose, ...given }, challenge.toString('base64url'));

  test('is good once, in whatever process (attack 25.501)', async () => {
    const challenge = mintChallenge(ctx, whose);
    const verdicts = await Promise.all(Array.from({ length: 5 }, () => spend({}, challenge)));
    expect(verdicts.filter((verdict) => verdict === 'good')).toHaveLength(1);
    expect(await spend({}, challenge)).toBe('expired');
  });

  test('is worthless in another browser, for another purpose, another user, another environment, and when altered (attack 25.502)', async () => {
    expect(await spend({ browser: 'another browser' })).toBe('foreign');
    expect(await spend({ purpose: 'second_step' })).toBe('foreign');
    expect(await spend({ user_id: null })).toBe('foreign');
    expect(await spend({ user_id: '018f0000-0000-7000-8000-000000000002' })).toBe('foreign');
    const foreign = await addEnvironment(ctx, 'challenges');
    expect(await spendChallenge(foreign, whose, mintChallenge(ctx, whose).toString('base64url'))).toBe('foreign');
    const longer = mintChallenge(ctx, whose);
    longer.writeUIntBE(longer.readUIntBE(16, 6) + 1, 16, 6);
    expect(await spend({}, longer)).toBe('foreign');
    expect(await spend({}, Buffer.alloc(3))).toBe('foreign');
    expect(await spend({})).toBe('good');
  });

  test(`ends after ${challengeLifetime} seconds`, async () => {
    const challenge = mintChallenge(ctx, whose).toString('base64url');
    expect(await spendChallenge(at(challengeLifetime + 1), whose, challenge)).toBe('expired');
  });
});

describe('making a passkey', () => {
  beforeAll(async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
  });

  test('takes EdDSA, ES256 and RS256; the user handle is the bytes of the id', async () => {
    for (const algorithm of [-8, -7, -257] as const) {
      const verdict = await make({ algorithm });
      expect(verdict).toMatchObject({
        outcome: 'verified',
        passkey: { rp_id: new URL(origin).hostname, discoverable: true, sign_count: 0 },
      });
    }
    const options = await creationOptions(ctx, {
      purpose: 'enroll',
      browser,
      user: { id: user.id, email: user.email, name: 'A' },
      exclude: [],
    });
    expect(Buffer.from(options.user.id, 'base64url').toString('hex')).toBe(user.id.replaceAll('-', ''));
    expect(options.attestation).toBe('none');
  });

  test('is refused from another origin, for another domain, framed, or as an assertion (attack 25.503)', async () => {
    expect(await outcomeOf(make({ origin: 'https://evil.example' }))).toBe('refused');
    expect(await outcomeOf(make({ rp_id: 'evil.example' }))).toBe('refused');
    expect(await outcomeOf(make({ cross_origin: true }))).toBe('refused');
    expect(await outcomeOf(make({ top_origin: 'https://evil.example' }))).toBe('refused');
    expect(await outcomeOf(make({ type: 'webauthn.get' }))).toBe('refused');
    expect(await outcomeOf(make({ user_present: false }))).toBe('refused');
    expect(await outcomeOf(make({ backed_up: true, backup_eligible: false }))).toBe('refused');
    expect(await outcomeOf(make())).toBe('verified');
  });

  test('is refused at a host that is none of the environment’s, whatever origin the browser states (attack 25.503)', async () => {
    const options = await creationOptions(ctx, {
      purpose: 'enroll',
      browser,
      user: { id: user.id, email: user.email, name: 'A' },
      exclude: [],
    });
    const credential = authenticator.create(options, { origin: 'http://evil.example' });
    const judged = verifyNewPasskey(ctx, { purpose: 'enroll', browser, user_id: user.id, host: 'evil.example', credential });
    expect(await outcomeOf(judged)).toBe('refused');
  });

  test('as the only factor verifies its user and is found by itself; beside a password neither is needed (attack 25.504)', async () => {
    expect(await outcomeOf(make({ user_verified: false }, 'register'))).toBe('refused');
    expect(await outcomeOf(make({ discoverable: false }, 'register'))).toBe('refused');
    expect(await make({ user_verified: false, discoverable: false })).toMatchObject({
      passkey: { discoverable: false, user_verified: false },
    });
    expect(await outcomeOf(make({}, 'register'))).toBe('verified');
  });

  test('states the id that was attested, in a form that can be read', async () => {
    const options = await creationOptions(ctx, {
      purpose: 'enroll',
      browser,
      user: { id: user.id, email: user.email, name: 'A' },
      exclude: [],
    });
    const credential = authenticator.create(options, { origin });
    const other = { ...credential, id: 'AAAA', rawId: 'AAAA' };
    expect(await outcomeOf(verifyNewPasskey(ctx, { purpose: 'enroll', browser, user_id: user.id, host, credential: other }))).toBe(
      'refused',
    );
    for (const broken of [null, 'text', {}, { ...credential, response: {} }, { ...credential, type: 'other' }])
      expect(await outcomeOf(verifyNewPasskey(ctx, { purpose: 'enroll', browser, user_id: user.id, host, credential: broken }))).toBe(
        'refused',
      );
  });

  test('fixes the RP id of the environment; a credential is one person’s (attack 25.505)', async () => {
    const credential_id = Buffer.alloc(32, 7);
    await enroll({ credential_id });
    expect((await findEnvironment(ctx.db.knex, ctx.environment.id))?.passkey_rp_id).toBe(new URL(origin).hostname);
    await expect(enroll({ credential_id }, await addUser(ctx))).rejects.toThrow('passkey_exists');
  });
});

describe('using a passkey', () => {
  beforeAll(async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    await enroll();
  });

  test('signs its user in, by whoever asks, and notes the use', async () => {
    const verdict = await use();
    expect(verdict).toMatchObject({ outcome: 'proven', user: { id: user.id }, proof: { method: 'passkey', user_verified: true } });
    expect((await listAuthenticatorsOfUser(ctx.scope, user.id))[0]?.last_used_at).not.toBeNull();
  });

  test('the options of a first step name no credential and want the user verified; those of a later one name the user’s (attack 25.506)', async () => {
    const first = await requestOptions(ctx, { purpose: 'sign_in', browser, user_id: null });
    expect(first).toMatchObject({ allowCredentials: [], userVerification: 'required' });
    const second = await requestOptions(ctx, { purpose: 'second_step', browser, user_id: user.id });
    expect(second).toMatchObject({ userVerification: 'preferred' });
    expect(second.allowCredentials?.map(({ id }) => id)).toEqual(authenticator.credentials.map(({ id }) => id));
  });

  test('is refused from another origin or domain, framed, or with a challenge of something else (attacks 25.502 and 25.503)', async () => {
    expect(await outcomeOf(use({ origin: 'https://evil.example' }))).toBe('refused');
    expect(await outcomeOf(use({ rp_id: 'evil.example' }))).toBe('refused');
    expect(await outcomeOf(use({ cross_origin: true }))).toBe('refused');
    expect(await outcomeOf(use({ type: 'webauthn.create' }))).toBe('refused');
    expect(await outcomeOf(use({}, {}, { browser: 'another browser' }))).toBe('refused');
    expect(await outcomeOf(use({}, { purpose: 'confirm', user_id: user.id }, { purpose: 'second_step' }))).toBe('refused');
    expect(await outcomeOf(use())).toBe('proven');
  });

  test('an answer is taken once (attack 25.501)', async () => {
    const using: Using = { purpose: 'sign_in', browser, user_id: null };
    const credential = authenticator.get(await requestOptions(ctx, using), { origin });
    const present = () => usePasskey(ctx, { ...using, host, credential, origin: noOrigin });
    const outcomes = await Promise.all([present(), present(), present()]);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['expired', 'expired', 'proven']);
  });

  test('without its user verified it is no first step, and a weaker second one (attack 25.504)', async () => {
    expect(await outcomeOf(use({ user_verified: false }))).toBe('refused');
    const second = await use({ user_verified: false }, { purpose: 'second_step', user_id: user.id });
    expect(second).toMatchObject({ outcome: 'proven' });
    expect(second.outcome === 'proven' && second.proof.user_verified).toBeUndefined();
    expect(await outcomeOf(use({ user_present: false }))).toBe('refused');
  });

  test('another user’s credential is no second step, whatever the authenticator says whose it is (attack 25.507)', async () => {
    const other = await addUser(ctx);
    const using: Using = { purpose: 'second_step', browser, user_id: other.id };
    const options = { ...(await requestOptions(ctx, using)), allowCredentials: [] };
    const credential = authenticator.get(options, { origin });
    expect(await usePasskey(ctx, { ...using, host, credential, origin: noOrigin })).toEqual({
      outcome: 'refused',
      reason: 'credential_of_another_user',
    });
    expect(await outcomeOf(use({ user_handle: 'AAAAAAAAAAAAAAAAAAAAAA' }))).toBe('refused');
    expect(await outcomeOf(use({ user_handle: null }))).toBe('refused');
  });

  test('an unknown credential is said to be unknown, an altered answer refused, a blocked user told apart after the signature', async () => {
    const stranger = new SoftwareAuthenticator();
    const options = await creationOptions(ctx, {
      purpose: 'enroll',
      browser,
      user: { id: user.id, email: user.email, name: 'A' },
      exclude: [],
    });
    stranger.create(options, { origin });
    const using: Using = { purpose: 'sign_in', browser, user_id: null };
    const unknown = stranger.get(await requestOptions(ctx, using), { origin });
    expect(await outcomeOf(usePasskey(ctx, { ...using, host, credential: unknown, origin: noOrigin }))).toBe('unknown');
    const credential = authenticator.get(await requestOptions(ctx, using), { origin });
    const { signature: right } = credential.response;
    const signature = (right.startsWith('A') ? 'B' : 'A') + right.slice(1);
    const altered = { ...credential, response: { ...credential.response, signature } };
    expect(await outcomeOf(usePasskey(ctx, { ...using, host, credential: altered, origin: noOrigin }))).toBe('refused');
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect(await outcomeOf(use())).toBe('blocked');
    await updateUser(ctx.scope, user.id, { status: 'active' });
  });

  test('a passkey that is not found by itself is a second step only (attack 25.504)', async () => {
    authenticator = new SoftwareAuthenticator();
    const owner = await addUser(ctx);
    const id = await enroll({ discoverable: false }, owner);
    const first: Using = { purpose: 'sign_in', browser, user_id: null };
    const forced = authenticator.get(
      await requestOptions(ctx, first),
      { origin, user_handle: (await findPasskey(ctx.scope, id))?.user_handle ?? '' },
      id,
    );
    expect(await outcomeOf(usePasskey(ctx, { ...first, host, credential: forced, origin: noOrigin }))).toBe('refused');
    expect(await outcomeOf(use({}, { purpose: 'second_step', user_id: owner.id }))).toBe('proven');
  });
});

describe('the counter', () => {
  const stored = async (id: string) => (await findPasskey(ctx.scope, id))?.sign_count;

  test('of a passkey that stays in one device must grow once it counts; a copy is refused, and the owner told (attack 25.508)', async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    const id = await enroll({ sign_count: 5 });
    expect(await outcomeOf(use({ sign_count: 6 }))).toBe('proven');
    for (const sign_count of [6, 5, 0]) expect(await use({ sign_count })).toEqual({ outcome: 'refused', reason: 'passkey_counter' });
    expect(await stored(id)).toBe(6);
    expect((await listCapturedMails(ctx, user.email)).map(({ subject }) => subject)).toContain('A passkey was refused at Default');
    expect(await outcomeOf(use({ sign_count: 7 }))).toBe('proven');
    const using: Using = { purpose: 'sign_in', browser, user_id: null };
    const twins = await Promise.all(
      [8, 8].map(async (sign_count) => authenticator.get(await requestOptions(ctx, using), { origin, sign_count })),
    );
    const verdicts = await Promise.all(twins.map((credential) => usePasskey(ctx, { ...using, host, credential, origin: noOrigin })));
    expect(verdicts.map(({ outcome }) => outcome).sort()).toEqual(['proven', 'refused']);
  });

  test('of somebody blocked tells a copy too (attack 25.1153)', async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    const id = await enroll({ sign_count: 5 });
    await updateUser(ctx.scope, user.id, { status: 'blocked' });
    expect(await outcomeOf(use({ sign_count: 6 }))).toBe('blocked');
    expect(await use({ sign_count: 6 })).toEqual({ outcome: 'refused', reason: 'passkey_counter' });
    expect(await stored(id)).toBe(6);
    expect((await listCapturedMails(ctx, user.email)).map(({ subject }) => subject)).toContain('A passkey was refused at Default');
  });

  test('of one that doesn’t count says nothing; nor does that of a synced one, whose copies count for themselves (attack 25.509)', async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    await enroll();
    for (let i = 0; i < 2; i++) expect(await outcomeOf(use({ sign_count: 0 }))).toBe('proven');
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    const synced = { backup_eligible: true, backed_up: true };
    await enroll({ sign_count: 9, ...synced });
    for (const sign_count of [3, 9, 0]) expect(await outcomeOf(use({ sign_count, ...synced }))).toBe('proven');
  });

  test('a passkey can’t become one that is synced, which would switch its counter off (attack 25.508)', async () => {
    user = await addUser(ctx);
    authenticator = new SoftwareAuthenticator();
    await enroll({ sign_count: 5 });
    expect(await use({ sign_count: 1, backup_eligible: true, backed_up: true })).toEqual({
      outcome: 'refused',
      reason: 'backup_eligibility_changed',
    });
  });
});

test('the kinds of a user’s authenticators stand on the user’s row', async () => {
  user = await addUser(ctx);
  authenticator = new SoftwareAuthenticator();
  await enroll();
  expect(await findUser(ctx.scope, user.id)).toMatchObject({ authenticator_kinds: ['passkey'], two_step_enabled: false });
});
