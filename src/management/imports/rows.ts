import { z } from 'zod';
import type { ApiErrorObject } from '../../errors.js';
import { parseJsonObject } from '../../http/request/json-body.js';
import { parseMeasured } from '../../lib/measured.js';
import type { ApiErrorCode } from '../../lib/error-codes.js';
import { withFirebaseKey } from '../../domain/passwords/hash-formats.js';
import { hashProblem } from '../../domain/users/imported-hashes.js';
import { userProblems, type UserInput } from '../../domain/users/users.js';
import type { Context } from '../../domain/context.js';
import type { Problem } from '../../domain/refusal.js';
import type { UserImportRow } from '../../db/tables/user_imports.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { shortened } from '../../lib/shortened.js';
import { boundedText } from '../fields.js';
import { invalidAttributes } from '../problems.js';
import { users } from '../resources/users.js';
import type { Line } from './lines.js';

/** Why a row isn't taken. */
export type RowProblem = { readonly code: ApiErrorCode; readonly pointer: string | null; readonly detail: string };

/** A row that can be written as far as it tells by itself. `input` has what it says of the user, without the hash. */
export type ImportRow = {
  readonly line: number;
  readonly email_key: string;
  readonly input: UserInput & { readonly email: string };
  readonly hash: string | undefined;
  readonly status: 'active' | 'blocked' | undefined;
  readonly roles: readonly string[] | undefined;
  readonly identities: readonly { readonly connection: string; readonly subject: string }[];
};

const extras = {
  status: z.enum(['active', 'blocked']).optional(),
  roles: z.array(boundedText(100)).max(100).optional(),
  identities: z
    .array(z.strictObject({ connection: boundedText(100), subject: boundedText(255) }))
    .max(20)
    .optional(),
};

const made = users.create?.schema.shape ?? {};
/** A row: what a new user is made of, but for a password in plain, and what hangs on a user. */
const rowSchema = z.strictObject({ ...Object.fromEntries(Object.entries(made).filter(([name]) => name !== 'password')), ...extras });

export const rowAttributes: readonly string[] = Object.keys(rowSchema.shape);

export const mostValues = 2_000;
const inAttributes = /^\/data\/attributes/;

/** A row tells what it is called itself, in up to 64 KiB; a hundred thousand rows are kept. */
const [longestPointer, longestDetail] = [100, 500];

const bounded = ({ code, pointer, detail }: RowProblem): RowProblem => ({
  code,
  pointer: pointer && shortened(pointer, longestPointer),
  detail: shortened(detail, longestDetail),
});

export const ofError = ({ code, detail, source }: ApiErrorObject): RowProblem => {
  const pointer = source && 'pointer' in source ? source.pointer.replace(inAttributes, '') : null;
  return bounded({ code: code as ApiErrorCode, pointer, detail });
};

export const ofProblem = ({ code, detail, attribute, relationship }: Problem): RowProblem => {
  const path = attribute === undefined ? relationship : typeof attribute === 'string' ? attribute : attribute.join('/');
  return bounded({ code, detail, pointer: path === undefined ? null : `/${path}` });
};

const malformed = (detail: string): RowProblem => ({ code: 'malformed_document', pointer: '', detail });

type Job = Pick<UserImportRow, 'hash_key_id' | 'addresses_proven'>;

/** Reads a line; null for a blank one. What is wrong with it by itself is told at once. */
export function readRow(ctx: Pick<Context, 'environment'>, job: Job, { line, bytes }: Line): ImportRow | readonly RowProblem[] | null {
  if (bytes === null) return [malformed('The line has more than 64 KiB.')];
  if (bytes.every((byte) => byte === 32 || byte === 9 || byte === 13)) return null;
  const value = parseJsonObject(bytes, mostValues);
  if (typeof value === 'string') return [malformed(`The line must be one JSON object in UTF-8 (${value}).`)];
  const parsed = parseMeasured(rowSchema, value);
  if (!parsed.success) return invalidAttributes(parsed.issues, value).errors.map(ofError);
  const {
    status,
    roles,
    identities = [],
    password_hash,
    email_verified,
    ...rest
  } = parsed.data as UserInput & {
    status?: 'active' | 'blocked';
    roles?: string[];
    identities?: { connection: string; subject: string }[];
  };
  const { hash_key_id } = job;
  const wrong = password_hash === undefined ? null : hashProblem(password_hash, () => hash_key_id !== null);
  const problems = [...userProblems(ctx, rest, null), ...(wrong ? [wrong] : [])];
  const address = normalizeEmail(rest.email ?? '');
  if (problems.length > 0 || !address) return problems.map(ofProblem);
  return {
    line,
    email_key: address.email_key,
    // Whose address it is nobody here knows, unless the import's maker says so of all of them.
    input: { ...rest, email: rest.email ?? '', ...(job.addresses_proven && email_verified !== undefined && { email_verified }) },
    hash: password_hash !== undefined && hash_key_id !== null ? withFirebaseKey(password_hash, hash_key_id) : password_hash,
    status,
    roles,
    identities,
  };
}
