/** The embedded database can't be used; the message names the file or directory and the way out, and is fit to be shown as it is. */
export class EmbeddedPostgresError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EmbeddedPostgresError';
  }
}
