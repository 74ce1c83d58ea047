import type { EnvironmentRow } from '../../db/tables/environments.js';
import type { OwnTexts } from '../../lib/languages/messages.js';

/** An environment as the service works with it: its row and what follows from BASE_URL and its domains. */
export type Environment = EnvironmentRow & {
  /** `iss` of everything it issues: the primary custom domain, else `base_url`. Never taken from a request (specification 3.2.2). */
  readonly issuer: string;
  /** Where it is reached without a custom domain. */
  readonly base_url: string;
  /** Every `iss` that its tokens may bear: the issuer, and what was the issuer before a domain changed it. */
  readonly issuers: readonly string[];
  /** `aud` of tokens for its Management API. */
  readonly management_audience: string;
  /** What its account pages say in the place of built-in texts; null: nothing. */
  readonly page_texts: OwnTexts | null;
};
