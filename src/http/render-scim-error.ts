import type { Request, Response } from 'express';
import { ScimError } from '../errors.js';

export const scimJson = 'application/scim+json';

/** An error response (RFC 7644 3.12): `status` is a text. */
export const scimErrorOf = (status: number, scimType: string | null, detail: string) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scimType !== null && { scimType }),
  detail,
});

/** A refusal in the dialect of SCIM. */
export function renderScim(
  req: Request,
  res: Response,
  error: unknown,
  { status, text }: { readonly status: number; readonly text: string },
): void {
  const own = error instanceof ScimError ? error : null;
  res.status(status).setHeader('Content-Type', scimJson);
  res.setHeader('Cache-Control', 'no-store');
  const detail = own ? own.detail : text.charAt(0).toUpperCase() + text.slice(1);
  res.end(req.method === 'HEAD' ? undefined : JSON.stringify(scimErrorOf(status, own?.scim_type ?? null, detail)));
}
