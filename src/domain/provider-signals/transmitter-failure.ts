/** The transmitter doesn't answer as SSF 1.0 and RFC 8936 say; the message is for the log. */
export class TransmitterFailure extends Error {}
