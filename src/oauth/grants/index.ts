import { authorization_code } from './authorization_code.js';
import { ciba } from './ciba.js';
import { client_credentials } from './client_credentials.js';
import { device_code } from './device_code.js';
import type { Grant } from './grant.js';
import { jwt_bearer, jwt_dpop } from './jwt_bearer.js';
import { refresh_token } from './refresh_token.js';
import { token_exchange } from './token_exchange.js';
import { cibaGrantType, deviceCodeGrantType, jwtBearerGrantType, jwtDpopGrantType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { named } from '../../lib/named.js';

/** The grant types by their wire names. The token endpoint, discovery and client validation follow from this list. */
export const grants: Readonly<Record<string, Grant>> = named({
  authorization_code,
  client_credentials,
  refresh_token,
  [deviceCodeGrantType]: device_code,
  [cibaGrantType]: ciba,
  [tokenExchangeGrantType]: token_exchange,
  [jwtBearerGrantType]: jwt_bearer,
  [jwtDpopGrantType]: jwt_dpop,
});
