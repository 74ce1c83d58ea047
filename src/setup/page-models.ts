import type { SetupPart } from '../db/tables/setup_links.js';
import type { FormPage } from '../http/pages/pages.js';
import type { ProviderValue, SetupProtocol, scimWords } from './providers.js';

export type SetupStep = { readonly part: SetupPart; readonly done: boolean };

/** What every page of a set-up has; `path` is where its pages begin, `service` whose they are though they look like the organization. */
export interface SetupStepPage extends FormPage {
  path: string;
  service: string;
  steps: readonly SetupStep[];
  /** ISO 8601 */
  expires_at: string;
}

export interface SetupWelcomePage extends SetupStepPage {
  needs: 'setup.needs_both' | 'setup.needs_domains' | 'setup.needs_provider';
}

export type SetupDomain = {
  id: string;
  domain: string;
  status: 'pending' | 'verified' | 'failed';
  failure_reason: 'record_not_found' | 'record_mismatch' | 'dns_error' | null;
  record: { record_kind: string; name: string; value: string };
};

/** Posts `domain` to /domains; /domains/{id}/verify and /domains/{id}/remove take nothing. */
export interface SetupDomainsPage extends SetupStepPage {
  domains: SetupDomain[];
}

/** `fields` by name, with what the provider calls them. */
export type SetupGuide = {
  provider: string;
  /** Null: a provider that the set-up doesn't know. */
  name: string | null;
  protocol: SetupProtocol;
  place: string | null;
  values: readonly ProviderValue[];
  fields: Readonly<Record<string, string>>;
};

/** Without a guide it asks for provider and protocol, by GET. Posts what the guide names to /connection; /connection/{test,enable,disable,remove} take nothing. */
export interface SetupConnectionPage extends SetupStepPage {
  guide: SetupGuide | null;
  choices: readonly { value: string; label: string }[];
  connection: { enabled: boolean; tested: boolean } | null;
}

/** Posts `version` to /directory, which makes a token. `token`: this page alone shows it. */
export interface SetupDirectoryPage extends SetupStepPage {
  directory: { base_url: string; token_hint: string; last_used_at: string | null; version: number } | null;
  token: string | null;
  words: typeof scimWords;
}

declare module '../http/pages/page-models.js' {
  interface PageModels {
    'setup/welcome': SetupWelcomePage;
    'setup/steps': SetupStepPage;
    'setup/domains': SetupDomainsPage;
    'setup/connection': SetupConnectionPage;
    'setup/directory': SetupDirectoryPage;
  }
}
