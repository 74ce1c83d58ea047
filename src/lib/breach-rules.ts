/** What becomes of a new password that is known from a data breach; `off`: nobody asks whether it is. */
export const breachedPasswordRules = ['refuse', 'off'] as const;

/** What follows when a password in use is found among leaked ones: its person is told, or may not sign in with it again; `off`: none is looked up. */
export const breachedSignInRules = ['notify', 'require_reset', 'off'] as const;
