import type { SessionRow } from '../../db/tables/sessions.js';

/**
 * The authentication context classes that sign-ins here reach (OIDC Core 2, `acr`), in the levels of ISO/IEC 29115: `1` is one factor, a
 * password or a provider's word.
 */
export const acrValues = ['1'] as const;

/** The class that the session's sign-in reached; always one of `acrValues`. */
export function acrOf(session: Pick<SessionRow, 'acr'>): string {
  return acrValues.find((value) => value === session.acr) ?? acrValues[0];
}
