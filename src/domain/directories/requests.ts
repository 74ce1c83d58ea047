import { insertDirectoryRequest, listDirectoryRequests, type DirectoryRequestRow } from '../../db/tables/directory_requests.js';
import { uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';

export type DirectoryRequest = DirectoryRequestRow;

const longestPath = 500;

/** What is kept of a request: nothing that it bore, but what was wrong with it. */
export type NotedRequest = Pick<DirectoryRequest, 'directory_id' | 'method' | 'path' | 'response_status' | 'error' | 'request_id'>;

/** Notes a request of a directory; only its last ones stay. */
export async function noteRequest(ctx: Context, request: NotedRequest): Promise<void> {
  const now = ctx.clock.now();
  await insertDirectoryRequest(ctx.scope, {
    ...request,
    path: request.path.slice(0, longestPath),
    id: uuidv7(now.getTime()),
    requested_at: now,
  });
}

/** The last requests of a directory, the newest first. */
export const listRequests = (ctx: Context, directory_id: string): Promise<DirectoryRequest[]> =>
  listDirectoryRequests(ctx.scope, directory_id);
