import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { ClientRow } from '../../db/tables/clients.js';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { clientSigningAlgorithms, type ClientSigningAlgorithm } from './key-set.js';

type Profiled = Pick<ClientRow, 'profile'>;

/** Whether the client is held to the FAPI 2.0 Security Profile. */
export const isFapi2 = ({ profile }: Profiled): boolean => profile === 'fapi2';

/** The algorithm that FAPI 2.0 leaves out (FAPI 2.0 Security Profile 5.4.1). */
const weak = 'RS256';

const strongAlgorithms = clientSigningAlgorithms.filter((algorithm) => algorithm !== weak);

/** What the client may sign assertions and request objects with. */
export const algorithmsOfClient = (client: Profiled): readonly ClientSigningAlgorithm[] =>
  isFapi2(client) ? strongAlgorithms : clientSigningAlgorithms;

/** What is signed for the client with where neither it nor an API resource chose: RS256, or with a profile that rules that out what its ID tokens are. */
export const algorithmFor = (client: Profiled & Pick<ClientRow, 'id_token_signed_response_alg'>): SigningAlgorithm =>
  isFapi2(client) ? client.id_token_signed_response_alg : weak;

/** Whether the client may be given access tokens as those of the API resource are: opaque, or signed as its profile wants. */
export const takesTokensOf = (client: Profiled, resource: Pick<ApiResourceRow, 'token_format' | 'signing_alg'>): boolean =>
  !isFapi2(client) || resource.token_format === 'opaque' || resource.signing_alg !== weak;

/** What is said where it may not (RFC 8707 2). */
export const tokensNotTaken = 'tokens for this resource are signed with RS256, which the profile of this client rules out';
