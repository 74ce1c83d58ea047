import { describe, expect, test } from 'vitest';
import { isSecondStepDone, reachedBy, reaches, satisfies, statedFor } from '../../../src/domain/proofs/classes.js';
import { isConfirmed } from '../../../src/domain/sessions/confirmation.js';
import { passkeyProof, proofNow, proofsOf, providerProof, withProofs, type SessionProof } from '../../../src/domain/proofs/proofs.js';

const start = Date.parse('2026-11-22T12:00:00.000Z');
const minute = (minutes: number) => new Date(start + minutes * 60_000);
const password = (at = 0) => proofNow('password', minute(at));
const totp = (at = 0) => proofNow('totp', minute(at), 'totp-1');
const mail = (at = 0) => proofNow('email', minute(at));
const passkey = (at = 0, verified = true) => passkeyProof(minute(at), 'passkey-1', verified);
const provider = (at = 0) => providerProof(minute(at), minute(at));

describe('the class that proofs reach', () => {
  test.each<[string, SessionProof[], string, string[]]>([
    ['a password', [password()], '1', ['pwd']],
    ['a provider', [provider()], '1', []],
    ['a code by mail', [mail()], '1', ['otp']],
    ['a password and a remembered browser', [password(), proofNow('device', minute(0), 'd')], '1', ['pwd']],
    ['a password and a TOTP', [password(), totp()], '2', ['pwd', 'otp', 'mfa']],
    ['a provider and a recovery code', [provider(), proofNow('recovery_code', minute(0), 's')], '2', ['otp', 'mfa']],
    ['a passkey that verified its user', [passkey()], 'phr', ['pop', 'user', 'mfa']],
    ['a password and a passkey', [password(), passkey(0, false)], 'phr', ['pwd', 'pop', 'user', 'mfa']],
    ['a passkey that noticed somebody', [passkey(0, false)], '1', ['pop', 'user']],
  ])('%s', (_name, proofs, acr, amr) => expect(reachedBy(proofs)).toMatchObject({ acr, amr }));

  test('what comes by mail raises nothing, before or after another factor (attack 25.520)', () => {
    expect(reachedBy([password(), mail()]).acr).toBe('1');
    expect(reachedBy([mail(), totp()]).acr).toBe('1');
    expect(reachedBy([mail(), passkey(0, false)]).acr).toBe('1');
  });

  test('a provider’s word counts for what it is trusted for, and for nothing else (attack 25.521)', () => {
    expect(reachedBy([providerProof(minute(0), minute(0), { asserted: null, suffices: true })]).acr).toBe('1');
    expect(reachedBy([providerProof(minute(0), minute(0), { asserted: '2', suffices: false })]).acr).toBe('2');
    expect(reachedBy([providerProof(minute(0), minute(0), { asserted: 'phr', suffices: false })]).acr).toBe('phr');
  });

  test('a code alone signs nobody in', () => {
    expect(() => reachedBy([totp()])).toThrow('sign nobody in');
    expect(reaches([totp()], '1')).toBe(false);
    expect(isSecondStepDone([totp()])).toBe(false);
  });

  test('sessions of before proofs were kept are of the lowest class, whatever stands in them', () => {
    const session = { proofs: [], amr: ['pwd'], authenticated_at: minute(1), auth_time_known: true };
    expect(reachedBy(proofsOf(session))).toMatchObject({ acr: '1', amr: ['pwd'], auth_time: minute(1) });
    const through = { ...session, amr: [], auth_time_known: false };
    expect(reachedBy(proofsOf(through))).toMatchObject({ acr: '1', amr: [], auth_time_known: false });
  });
});

describe('the time', () => {
  test('is that of the oldest proof that the class rests on; the latest of each kind counts', () => {
    expect(reachedBy([password(0), totp(5)]).auth_time).toEqual(minute(0));
    expect(reachedBy([password(7), totp(5)]).auth_time).toEqual(minute(5));
    expect(reachedBy(withProofs([password(0), totp(1)], [password(8), totp(9)])).auth_time).toEqual(minute(8));
    // The passkey alone reaches it: how old the password is doesn't matter.
    expect(reachedBy([password(0), passkey(9)]).auth_time).toEqual(minute(9));
    expect(reachedBy([password(3), passkey(9, false)]).auth_time).toEqual(minute(3));
  });

  test('isn’t known where the class rests on a provider that doesn’t tell', () => {
    expect(reachedBy([providerProof(minute(0), null), totp(1)]).auth_time_known).toBe(false);
    expect(reachedBy([providerProof(minute(0), null), passkey(1)]).auth_time_known).toBe(true);
  });
});

describe('what a token states', () => {
  test('is the highest class that was asked for and is reached, else the one that is reached', () => {
    const proofs = [password(0), totp(4)];
    expect(statedFor(proofs, ['1'])).toMatchObject({ acr: '1', amr: ['pwd', 'otp'], auth_time: minute(0) });
    expect(statedFor(proofs, ['1', '2', 'phr']).acr).toBe('2');
    expect(statedFor(proofs, ['phr', 'urn:else'])).toEqual(reachedBy(proofs));
    expect(statedFor(proofs, [])).toEqual(reachedBy(proofs));
    expect(statedFor([passkey(2)], ['2'])).toMatchObject({ acr: '2', amr: ['pop', 'user', 'mfa'], auth_time: minute(2) });
  });

  test('1 < 2 < phr', () => {
    expect(satisfies('phr', '2') && satisfies('2', '1') && satisfies('1', null)).toBe(true);
    expect(satisfies('1', '2') || satisfies('2', 'phr')).toBe(false);
  });
});

describe('a confirmation', () => {
  const ctx = { environment: { confirmation_lifetime: 600 }, clock: { now: () => minute(20) } } as unknown as Parameters<
    typeof isConfirmed
  >[0];

  test('takes a proof of the last minutes, of a second factor where two-step is on (attack 25.522)', () => {
    expect(isConfirmed(ctx, [password(15)], '1')).toBe(true);
    expect(isConfirmed(ctx, [password(5)], '1')).toBe(false);
    expect(isConfirmed(ctx, [password(15)], '2')).toBe(false);
    expect(isConfirmed(ctx, [password(15), totp(5)], '2')).toBe(false);
    expect(isConfirmed(ctx, [password(5), totp(15)], '2')).toBe(true);
    expect(isConfirmed(ctx, [password(5), totp(15)], 'phr')).toBe(false);
    expect(isConfirmed(ctx, [password(15), mail(15)], '2')).toBe(false);
    expect(isConfirmed(ctx, [providerProof(minute(15), null)], '1')).toBe(false);
  });
});
