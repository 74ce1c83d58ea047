/** The transmitter doesn't answer as SSF 1.0 and RFC 8936 say; the message is for the log. `status`: of the answer, where that is what is wrong. */
export class TransmitterFailure extends Error {
  constructor(
    message: string,
    readonly status: number | null = null,
  ) {
    super(message);
  }
}

export const statusFailure = (status: number): TransmitterFailure => new TransmitterFailure(`status ${status}`, status);

/**
 * Asks with a token; where the transmitter takes it no more, though it hasn't ended (RFC 6750 3.1), once again with a new one.
 * @param renew null for a token that was set
 */
export async function withToken<T>(
  token: string,
  renew: (() => Promise<string | null>) | null,
  work: (token: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(token);
  } catch (error) {
    const other = renew !== null && error instanceof TransmitterFailure && error.status === 401 ? await renew() : null;
    if (other === null) throw error;
    return work(other);
  }
}
