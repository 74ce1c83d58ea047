import { RuledError } from '../../errors.js';
import type { OAuthErrorCode } from '../../lib/oauth-error-codes.js';
import type { Addressee } from './request.js';

/**
 * A refusal that is sent to the client's redirect URI (RFC 6749 4.1.2.1). It can only be made once client and redirect URI are
 * proven, so an open redirect can't be written down.
 */
export class AuthorizationError extends RuledError {
  constructor(
    readonly addressee: Addressee,
    readonly error: OAuthErrorCode,
    readonly description: string,
  ) {
    super(`${error}: ${description}`);
    this.name = 'AuthorizationError';
  }

  get answer() {
    return { status: 400, code: this.error, text: this.description };
  }
}
