import { proofNow } from '../../src/domain/proofs/proofs.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { cibaGrantType } from '../../src/lib/grant-types.js';
import { csrfOf, type Browser } from './browser.js';
import type { TestClient } from './data.js';
import { lastMailTo } from './mailbox.js';
import { oauthPost, tokenRequest, type TokenAnswer } from './oauth.js';
import type { TestService } from './service.js';
import { signedInBy } from './signed-in.js';

export const asking = { grant_types: [cibaGrantType, 'refresh_token'], redirect_uris: [] as string[], is_agent: true };

/** A client asks a person elsewhere (CIBA Core 1.0 7.1). */
export const askFor = (origin: string, client: TestClient | null, fields: Record<string, string>) =>
  oauthPost(origin, '/oauth/backchannel_authentication', client, { scope: 'openid', ...fields });

/** The same of a question that is taken. */
export async function askOf(origin: string, client: TestClient, fields: Record<string, string>): Promise<string> {
  const { status, body } = await askFor(origin, client, fields);
  const { auth_req_id } = body as { auth_req_id?: string };
  if (status !== 200 || auth_req_id === undefined) throw new Error(`${status} ${JSON.stringify(body)}`);
  return auth_req_id;
}

export const pollApproval = (
  origin: string,
  client: TestClient,
  auth_req_id: string,
  fields: Record<string, string> = {},
): Promise<TokenAnswer> => tokenRequest(origin, client, { grant_type: cibaGrantType, auth_req_id, ...fields });

/** The path of the page in the person's last mail. */
export async function approvalPathIn(origin: string, { email }: Pick<UserRow, 'email'>): Promise<string> {
  const { text } = await lastMailTo(origin, email);
  const path = /\/approvals\/[0-9a-f-]{36}/.exec(text)?.[0];
  if (path === undefined) throw new Error(`no approval in the mail: ${text}`);
  return path;
}

/** Answers on the page. */
export async function decide(browser: Browser, path: string, decision: string, fields: Record<string, string> = {}): Promise<Response> {
  const html = await (await browser.get(path)).text();
  return browser.post(path, { _csrf: csrfOf(html), decision, ...fields });
}

/** Somebody who has just signed in by a password and a code. */
export const freshlySignedIn = (service: TestService, user: Pick<UserRow, 'id'>): Promise<Browser> =>
  signedInBy(service, user, [proofNow('password', service.clock.now()), proofNow('totp', service.clock.now())]);
