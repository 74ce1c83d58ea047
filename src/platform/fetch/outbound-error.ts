/** Why a request to another host came to nothing; `busy`: too many others to the same host have no answer yet, and this one was not sent. */
export type OutboundReason = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked_address' | 'protocol' | 'too_large' | 'busy';

/** A request to another host that has no (usable) answer. The message names no path and no header. */
export class OutboundError extends Error {
  constructor(
    readonly reason: OutboundReason,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'OutboundError';
  }
}

const tlsCodes = /^ERR_TLS|^ERR_SSL|^EPROTO$|CERT|^UNABLE_TO_|^CRL_|SELF_SIGNED|^INVALID_(CA|PURPOSE)|^HOSTNAME_MISMATCH|^PATH_LENGTH/;
const tooLargeCodes = new Set(['UND_ERR_HEADERS_OVERFLOW', 'HPE_HEADER_OVERFLOW', 'UND_ERR_RES_EXCEEDED_MAX_SIZE']);
const protocolCodes = /^HPE_|^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|INVALID_RETURN_VALUE|REQ_|RES_|RESPONSE|HTTP_PARSER)|^ERR_INVALID_/;
const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

function reasonOf(code: string, name: string, message: string): OutboundReason {
  if (tlsCodes.test(code) || message.includes('before secure TLS connection')) return 'tls';
  if (tooLargeCodes.has(code)) return 'too_large';
  if (timeoutCodes.has(code)) return 'timeout';
  if (protocolCodes.test(code) || name === 'HTTPParserError' || message === 'bad upgrade') return 'protocol';
  return 'connect';
}

/** Maps an error of the socket, TLS or HTTP parser to an {@link OutboundError} with its reason. */
export function asOutboundError(error: unknown): OutboundError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OutboundError) return cause;
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  const named = typeof code === 'string' ? code : '';
  const reason = reasonOf(named, String(name), String(message));
  return new OutboundError(reason, named === '' ? `${reason} failure` : `${reason} failure (${named})`, error);
}
