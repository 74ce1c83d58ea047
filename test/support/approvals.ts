import { askPerson } from '../../src/domain/approvals/ask.js';
import type { Context } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { findClient, type ClientRow } from '../../src/db/tables/clients.js';
import { uuidv7 } from '../../src/lib/random.js';
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

/** A question that waits. */
export async function addApproval(ctx: Context, client_id: string, user_id: string): Promise<string> {
  const client = await findClient(ctx.scope, client_id);
  const request = {
    hint: user_id,
    scopes: ['openid'],
    resource: null,
    authorization_details: null,
    organization: null,
    binding_message: null,
    acr_values: [],
    requested_expiry: null,
  };
  const more = { client_notification_token: 'x', request_id: uuidv7(0), origin: noOrigin };
  const endpoint = 'http://127.0.0.1:49151/';
  const asker = { ...(client as ClientRow), backchannel_users: 'any' as const, backchannel_client_notification_endpoint: endpoint };
  const answer = await askPerson(ctx, asker, { ...request, ...more });
  if (typeof answer !== 'object') throw new Error(String(answer));
  return answer.auth_req_id;
}
