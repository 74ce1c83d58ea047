import { insert, update, type Scope } from '../scope.js';

export type UserExportRow = {
  environment_id: string;
  id: string;
  include_password_hashes: boolean;
  expires_at: Date;
  taken_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

export const insertUserExport = (scope: Scope, row: Partial<UserExportRow>): Promise<UserExportRow> =>
  insert<UserExportRow>(scope, 'user_exports', row);

export const noteExportTaken = (scope: Scope, id: string, at: Date): Promise<UserExportRow | null> =>
  update<UserExportRow>(scope, 'user_exports', { id }, { taken_at: at, updated_at: at });
