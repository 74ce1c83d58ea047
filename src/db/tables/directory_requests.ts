import { run, table, type Scope } from '../scope.js';

/** A request that a directory sent, for the page of the directory. */
export type DirectoryRequestRow = {
  environment_id: string;
  id: string;
  directory_id: string;
  requested_at: Date;
  method: string;
  path: string;
  response_status: number;
  error: { readonly scimType: string | null; readonly detail: string } | null;
  request_id: string;
};

/** How many a directory keeps. */
const keptRequests = 100;

/** Stores a request, and deletes all but the last ones of its directory; ids are in the order of time. */
export async function insertDirectoryRequest(scope: Scope, row: Omit<DirectoryRequestRow, 'environment_id'>): Promise<void> {
  const text = `with stored as (
      insert into directory_requests (environment_id, id, directory_id, requested_at, method, path, response_status, error, request_id)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    )
    delete from directory_requests where environment_id = $1 and directory_id = $3 and id < (
      select id from directory_requests where environment_id = $1 and directory_id = $3 order by id desc offset ${keptRequests - 2} limit 1)`;
  const { id, directory_id, requested_at, method, path, response_status, error, request_id } = row;
  const values = [id, directory_id, requested_at, method, path, response_status, error && JSON.stringify(error), request_id];
  await run(scope, { name: 'directory_requests.insert', text, short: { kind: 'write', key: 2 } }, values);
}

/** The last requests of the directory, the newest first. */
export const listDirectoryRequests = async (scope: Scope, directory_id: string): Promise<DirectoryRequestRow[]> =>
  (await table<DirectoryRequestRow>(scope, 'directory_requests')
    .where({ directory_id } as never)
    .orderBy('id', 'desc')
    .limit(keptRequests)) as DirectoryRequestRow[];
