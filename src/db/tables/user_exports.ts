import { rowFunctions, type RecordRow } from '../records.js';
import { update, type Scope } from '../scope.js';

export type UserExportRow = RecordRow & { include_password_hashes: boolean; expires_at: Date; taken_at: Date | null };

export const { insert: insertUserExport } = rowFunctions<UserExportRow>('user_exports');

export const noteExportTaken = (scope: Scope, id: string, at: Date): Promise<UserExportRow | null> =>
  update<UserExportRow>(scope, 'user_exports', { id }, { taken_at: at, updated_at: at });
