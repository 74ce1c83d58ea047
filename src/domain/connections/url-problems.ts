import type { ConnectionRow } from '../../db/tables/connections.js';
import { checkUrl, type UrlProblem } from '../../platform/fetch/guard.js';
import { type Problem, unfit } from '../refusal.js';
import { endpointFields } from './strategies.js';

const urlTexts: Record<UrlProblem, string> = {
  url_invalid: 'is not an absolute URL',
  url_scheme: 'must use https',
  url_userinfo: 'must not hold a user name or password',
  url_fragment: 'must not hold a fragment',
  url_port: 'uses the port of another kind of service',
  url_address: 'leads into a private network',
};

/** Addresses of a provider that nothing may be sent to or fetched from. */
export const urlProblems = (row: ConnectionRow, policy: { allowPrivateNetwork: boolean }): Problem[] =>
  (['issuer', ...endpointFields, 'assertion_issuer', 'assertion_jwks_uri', 'signals_issuer', 'signals_poll_url'] as const).flatMap(
    (field) => {
      const url = row[field];
      const problem = url === null ? null : checkUrl(url, policy);
      return problem === null ? [] : [unfit(field, problem, `The URL ${urlTexts[problem]}.`)];
    },
  );
