/** Why a backup isn't made or restored, as a sentence for the operator that says what to do. */
export class BackupRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupRefusal';
  }
}
