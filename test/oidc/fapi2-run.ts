import type { TestService } from '../support/service.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { Browser, locationParameters } from '../support/browser.js';
import { password } from '../support/data.js';
import { Fapi2Client, type Differences } from '../support/fapi2.js';
import { claimsOf, type TokenAnswer } from '../support/oauth.js';

/** The plan: `fapi2-security-profile-final-test-plan` asks and is answered plainly, `fapi2-message-signing-final-test-plan` by signed requests and JARM. */
export type Plan = 'security-profile' | 'message-signing';

type Changes = Record<string, string | undefined>;

const signedColumns = {
  require_signed_request_object: true,
  authorization_signed_response_alg: 'ES256',
  introspection_signed_response_alg: 'ES256',
} as const;

/** One run of one module: two clients of the plan, and a person who is signed in. */
export class Fapi2Run {
  private constructor(
    readonly service: TestService,
    readonly plan: Plan,
    readonly user: UserRow,
    readonly bank: Fapi2Client,
    readonly other: Fapi2Client,
    readonly browser: Browser,
  ) {}

  static async start(service: TestService, plan: Plan, user: UserRow): Promise<Fapi2Run> {
    const columns = plan === 'message-signing' ? signedColumns : {};
    const [bank, other] = [await Fapi2Client.add(service, columns), await Fapi2Client.add(service, columns, 'ES256')];
    const browser = new Browser(service.url);
    await browser.login(user.email, password);
    return new Fapi2Run(service, plan, user, bank, other, browser);
  }

  client(columns: Parameters<typeof Fapi2Client.add>[1]): Promise<Fapi2Client> {
    return Fapi2Client.add(this.service, { ...(this.plan === 'message-signing' ? signedColumns : {}), ...columns });
  }

  /** Claims of a request object beside the parameters. */
  envelope(of: Fapi2Client, changes: Record<string, unknown> = {}): Record<string, unknown> {
    const { id } = of.client;
    return { iss: id, client_id: id, aud: this.service.url, nbf: of.now, exp: of.now + 300, iat: of.now, ...changes };
  }

  /** Pushes an authorization request: its parameters, or a signed object that holds them. */
  async push(changes: Changes = {}, how: Differences & { readonly of?: Fapi2Client; readonly beside?: Record<string, string> } = {}) {
    const { of = this.bank, beside = {}, ...differences } = how;
    const { fields, verifier } = of.request(changes);
    const sent = this.plan === 'message-signing' ? { request: await of.key.sign({ ...fields, ...this.envelope(of) }) } : fields;
    const answer = await of.push({ ...sent, ...beside }, { proof: null, ...differences });
    return { answer, verifier, request_uri: String(answer.body['request_uri']) };
  }

  /** Goes to the authorization endpoint with a reference, and whatever is sent beside it. */
  open(request_uri: string, { of = this.bank, browser = this.browser, beside = {} as Record<string, string> } = {}): Promise<Response> {
    return browser.get(`/oauth/authorize?${new URLSearchParams({ client_id: of.client.id, request_uri, ...beside })}`);
  }

  /** What the client is told: the parameters of the answer, or those of its JARM. */
  told(answer: Response): Readonly<Record<string, unknown>> {
    const parameters = locationParameters(answer);
    const response = parameters.get('response');
    return response === null ? Object.fromEntries(parameters) : claimsOf(response);
  }

  /** A code, as the module's changes ask for it. */
  async code(changes: Changes = {}, how: Parameters<Fapi2Run['push']>[1] & { readonly outside?: Record<string, string> } = {}) {
    const { outside = {}, ...pushing } = how;
    const { answer, request_uri, verifier } = await this.push(changes, pushing);
    if (answer.status !== 201) throw new Error(`not pushed: ${JSON.stringify(answer.body)}`);
    const told = this.told(await this.open(request_uri, { of: how.of ?? this.bank, beside: outside }));
    if (typeof told['code'] !== 'string') throw new Error(`no code: ${JSON.stringify(told)}`);
    return { code: told['code'], verifier, told };
  }

  /** A whole flow of the first client. */
  async tokens(changes: Changes = {}, how: Parameters<Fapi2Run['code']>[1] = {}): Promise<TokenAnswer['body']> {
    const answer = await this.bank.redeem(await this.code(changes, how));
    if (answer.status !== 200) throw new Error(`no tokens: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}
