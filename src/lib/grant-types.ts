/** The grant type by which a device without a browser gets its tokens (RFC 8628 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** The grant type by which a client gets tokens for a person whom it asked elsewhere (CIBA Core 1.0 10.1). */
export const cibaGrantType = 'urn:openid:params:grant-type:ciba';

/** The grant type by which a service gets a token for a person on the strength of one that it was called with (RFC 8693 2.1). */
export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The grant type by which a workload gets a client's token for one of its platform's (RFC 7523 2.1). */
export const jwtBearerGrantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The same with a key that the assertion is bound to (draft-ietf-oauth-identity-assertion-authz-grant 9.8.1.2.1). */
export const jwtDpopGrantType = 'urn:ietf:params:oauth:grant-type:jwt-dpop';

/** RFC 8693 3. */
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
