import { TOTP } from 'otpauth';
import type { PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { activateTotpOf, addPasskey, startTotp } from '../../src/domain/authenticators/enrolment.js';
import { creationOptions, verifyNewPasskey } from '../../src/domain/authenticators/passkey-registration.js';
import type { Context } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { updateEnvironment, type EnvironmentRow } from '../../src/db/tables/environments.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser } from './browser.js';
import { addUser, password } from './data.js';
import type { TestService } from './service.js';
import type { SoftwareAuthenticator, Behaviour } from './software-authenticator.js';

/** Changes settings of the default environment; every request from now on sees them. */
export async function setEnvironment(service: TestService, settings: Partial<EnvironmentRow>): Promise<void> {
  const ctx = await service.context();
  await updateEnvironment(ctx.scope, ctx.environment.id, settings);
  service.deps.cache.clear();
}

/** The code that an authenticator app with the secret shows at that moment. */
export const totpCode = (secret: string, at: Date): string => new TOTP({ secret }).generate({ timestamp: at.getTime() });

/** A code of six digits that the app shows at no moment near this one. */
export function wrongTotpCode(secret: string, now: Date): string {
  const near = [-60, -30, 0, 30, 60].map((seconds) => totpCode(secret, new Date(now.getTime() + seconds * 1000)));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code)) as string;
}

/** An authenticator app and recovery codes for the user, as the account page gives them; two-step is on from then on. The code of the present step is still good. */
export async function giveTotp(ctx: Context, user_id: string): Promise<{ id: string; secret: string; recovery_codes: string[] }> {
  const started = await startTotp(ctx, { user_id, name: 'Phone' });
  if (started.outcome !== 'started') throw new Error(started.outcome);
  const { authenticator_id, secret } = started;
  const code = totpCode(secret, new Date(ctx.clock.now().getTime() - 30_000));
  const added = await activateTotpOf(ctx, user_id, { authenticator_id, code }, noOrigin);
  if (added.outcome !== 'added') throw new Error(added.outcome);
  return { id: authenticator_id, secret, recovery_codes: added.recovery_codes ?? [] };
}

/** A passkey for the user, kept by the authenticator. */
export async function givePasskey(
  service: TestService,
  user: UserRow,
  authenticator: SoftwareAuthenticator,
  how: Partial<Behaviour> = {},
): Promise<void> {
  const ctx = await service.context();
  const making = { purpose: 'enroll', browser: 'test', user: { id: user.id, email: user.email, name: 'Ada' }, exclude: [] } as const;
  const credential = authenticator.create(await creationOptions(ctx, making), { origin: service.url, ...how });
  const verified = await verifyNewPasskey(ctx, { ...making, user_id: user.id, host: new URL(service.url).host, credential });
  if (verified.outcome !== 'verified') throw new Error(verified.outcome);
  const added = await addPasskey(ctx, { user_id: user.id, passkey: verified.passkey, name: 'Passkey', origin: noOrigin });
  if (added.outcome !== 'added') throw new Error(added.outcome);
}

/** Somebody with a password, an authenticator app and recovery codes. */
export async function addTwoStepUser(service: TestService, row: Partial<UserRow> = {}) {
  const ctx: Context = await service.context();
  const { id } = await addUser(ctx, row);
  const { secret, recovery_codes } = await giveTotp(ctx, id);
  return { user: (await findUser(ctx.scope, id)) as UserRow, secret, recovery_codes };
}

/** A browser whose password was right, and that a second step is asked of. */
export async function halfSignedIn(service: TestService, { email }: Pick<UserRow, 'email'>): Promise<Browser> {
  const browser = new Browser(service.url);
  const answer = await browser.postJson('/login', { email, password });
  if (answer.status !== 200 || !browser.cookies.has('idp_signin')) throw new Error(`no second step is asked for: ${answer.status}`);
  return browser;
}

/** The options of a ceremony, as the page's script gets them. */
export const optionsAt = async (browser: Browser, path: string, body: object = {}): Promise<PublicKeyCredentialRequestOptionsJSON> =>
  (await (await browser.postJson(path, body)).json()) as PublicKeyCredentialRequestOptionsJSON;

/** The same for a new passkey. */
export const creationOptionsAt = async (
  browser: Browser,
  path: string,
  body: object = {},
): Promise<PublicKeyCredentialCreationOptionsJSON> =>
  (await (await browser.postJson(path, body)).json()) as PublicKeyCredentialCreationOptionsJSON;

/** Status and error code of an answer. */
export async function refusalOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { error: string }).error];
}
