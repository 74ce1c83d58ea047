import type { Context } from '../../domain/context.js';
import type { Client } from '../../domain/clients/clients.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { ActiveToken } from '../../domain/tokens/active-token.js';
import type { BasicCredentials } from '../../lib/basic-credentials.js';
import type { Deadline } from '../../lib/deadline.js';
import type { Parameters } from '../../lib/parameters.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** The context of this request's environment; set by `environment`. */
    ctx: Context;
    /** How long there is still to answer; 0 as soon as the caller has hung up. Set by `requestDeadlines`. */
    deadline: Deadline;
    /** Echoed as X-Request-Id and shown with every error. */
    request_id: string;
    /** Of a request that spans are sent of, 32 hexadecimal digits; set by `traceRequests`. */
    trace_id?: string;
    /** Its path without ids, where it isn't Express that finds the route; for its span. */
    route_pattern?: string;
    /** The secret that the browser gets with the answer, having brought none; set by `browserSecret`. */
    given_browser_secret?: string;
    /** The client of a token that was presented, or that an authorization is asked for; for the request's span. */
    asking_client_id?: string;
    /** `error` of the refusal that was the answer, for its span. */
    error_code?: string;
    /** The fields of a form body; set by `form`. */
    form: Parameters;
    /** What the Authorization header says as Basic credentials, null when it doesn't; set when first asked for. */
    basic?: BasicCredentials | null;
    /** The authenticated client; set by `authenticateClient`. */
    client: Client;
    /** The verified access token; set by `authenticateBearer`. */
    token: ActiveToken;
    /** The live session of the browser, or null; set by `browserSession`. */
    session: BrowserSession | null;
    /** Whether the browser has signed in before to the account that a login names; set by `limitLogin`. */
    knownBrowser?: boolean;
  }
}
