import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../refusal.js';

type OrganizationDecided = { readonly domains?: readonly string[]; readonly required?: boolean };

/** What the organization decides for its connections (specification 16.4.2); its domains may be sent back as they are shown. */
export const organizationProblems = (input: OrganizationDecided, shown: readonly string[] = []): Problem[] =>
  (['domains', 'required'] as const)
    .filter((name) => name !== 'domains' || !isDeepStrictEqual(input.domains, shown))
    .filter((name) => input[name] !== undefined && input[name] !== false && !(Array.isArray(input[name]) && input[name].length === 0))
    .map((name) => ({
      status: 422,
      code: 'invalid_value',
      attribute: [name],
      detail: name === 'domains' ? 'Its domains are those of its organization: verify them there.' : 'Set require_sso of its organization.',
    }));
