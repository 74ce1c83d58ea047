const kib = 1024;

/**
 * How long a body may be, in bytes; what is longer is 413 and says this number (specification 10.3.1). What is read at all is read within the time that
 * one request may hold the event loop, so whatever isn't an ordinary body says here why it is longer.
 */
export const bodyLimits = {
  /** Forms and JSON of the pages and of OAuth. */
  form: 64 * kib,
  /** A SAML response of 256 KiB in Base64, encoded as a form. */
  saml_response: 384 * kib,
  /** Documents of the Management API. */
  document: 256 * kib,
  /** A mail template has 120,000 characters, of up to three bytes each. */
  mail_template: 512 * kib,
  /** An image of 512 KiB in Base64. */
  logo: 704 * kib,
  /** A configuration document with what comes along: a larger environment is described in several, by collections. */
  configuration: kib * kib,
  /** Ten thousand members of a group, each with its id and what directories write beside it. */
  scim: 2 * kib * kib,
  /** A part of a file of users. */
  import_part: 8 * kib * kib,
  /** Nothing but the image of a form is kept; what is beyond that is read for the sake of an answer that says what is wrong. */
  upload: 16 * kib * kib,
} as const;

/** A number of bytes as people say it: `256 KiB`. */
const bytesInWords = (bytes: number): string => (bytes < kib * kib ? `${bytes / kib} KiB` : `${bytes / kib / kib} MiB`);

/** Why a body isn't read. */
export const bodyTooLarge = (limit: number): string => `the body is larger than ${bytesInWords(limit)}, the most that this address takes`;
