/** `aud` of tokens for the endpoints of signals: the identifier of the API resource that grants are made for. */
export const signalsAudience = ({ base_url }: { readonly base_url: string }): string => `${base_url}/ssf`;

export const signalsPermissions = {
  'ssf.read': 'See the own streams and poll them.',
  'ssf.manage': 'Make, change and delete the own streams.',
} as const;

/** The longest that a token for it may live, in seconds. */
export const signalsTokenLifetime = 3600;
