import { csrfOf, type Browser } from './browser.js';
import type { TestClient } from './data.js';
import { oauthPost, tokenRequest, type TokenAnswer } from './oauth.js';

export const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';

/** The answer to a device that starts (RFC 8628 3.2). */
export type Started = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
};

/** A device asks for its codes. */
export async function startDevice(
  origin: string,
  client: TestClient,
  fields: Record<string, string> = { scope: 'openid profile' },
  headers: Record<string, string> = {},
): Promise<Started> {
  const answer = await oauthPost(origin, '/oauth/device_authorization', client, fields, headers);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as unknown as Started;
}

/** A device asks whether its person has answered. */
export const pollDevice = (
  origin: string,
  client: TestClient,
  device_code: string,
  fields: Record<string, string> = {},
): Promise<TokenAnswer> => tokenRequest(origin, client, { grant_type: deviceCode, device_code, ...fields });

/** The page that asks, for a code that is typed. */
export const typeUserCode = async (browser: Browser, user_code: string): Promise<Response> => browser.submit('/device', { user_code });

/** The fields of the form that answers. */
export function questionOf(html: string): { _csrf: string; question: string } {
  const question = /name="question" value="([^"]+)"/.exec(html)?.[1];
  if (question === undefined) throw new Error(`the page asks nothing: ${html}`);
  return { _csrf: csrfOf(html), question };
}

/** Types the code and answers. */
export async function answerDevice(browser: Browser, user_code: string, decision = 'allow'): Promise<Response> {
  const html = await (await typeUserCode(browser, user_code)).text();
  return browser.post('/device/answer', { ...questionOf(html), decision });
}
