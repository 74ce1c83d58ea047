import type { Problem } from '../refusal.js';

/** What the organization decides for its connections (specification 16.4.2). */
export const organizationProblems = (input: { readonly domains?: readonly string[]; readonly required?: boolean }): Problem[] =>
  (['domains', 'required'] as const)
    .filter((name) => input[name] !== undefined && input[name] !== false && !(Array.isArray(input[name]) && input[name].length === 0))
    .map((name) => ({
      status: 422,
      code: 'invalid_value',
      attribute: [name],
      detail: name === 'domains' ? 'Its domains are those of its organization: verify them there.' : 'Set require_sso of its organization.',
    }));
