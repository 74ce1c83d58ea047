/** The scopes that OpenID Connect defines, and `roles` (flat array of role names at userinfo). */
export const openidScopes = ['openid', 'profile', 'email', 'address', 'phone', 'roles', 'offline_access'] as const;

const known: ReadonlySet<string> = new Set(openidScopes);

/** Whether the scope is one of OpenID Connect's, not a permission of an API resource. */
export const isOpenidScope = (scope: string): boolean => known.has(scope);
