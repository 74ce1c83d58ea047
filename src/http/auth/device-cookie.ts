import type { Request, Response } from 'express';
import { knownForSeconds, type Device } from '../../domain/sessions/known-browsers.js';
import { randomToken } from '../../lib/random.js';
import { cookieName, readCookie, setCookie } from '../request/cookies.js';

const name = 'device';
const maxUsers = 5;
const maxLength = 2048;

/** Sealed for the environment: another one's cookie says nothing here, and nobody can write one. */
const place = (req: Request) => `device ${req.ctx.environment.id}` as const;

/** The content of the browser's device cookie; null without one, and when it doesn't open. */
export function deviceOf(req: Request): Device | null {
  const sealed = readCookie(req, cookieName(req, name));
  if (sealed === undefined || sealed.length > maxLength) return null;
  const text = req.ctx.sealer.openText(sealed, place(req));
  return text === null ? null : (JSON.parse(text) as Device);
}

/** When the user last signed in with this browser, by its device cookie; null when the cookie doesn't name the user. */
export function lastSignInHere(req: Request, user_id: string): Date | null {
  const at = deviceOf(req)?.users.find(([id]) => id === user_id)?.[1];
  return at === undefined ? null : new Date(at);
}

/** What the cookie holds once the user has signed in with this browser just now: the five latest users. A browser without one gets an id. */
export function deviceAfterSignIn(req: Request, user_id: string): Device {
  const known = deviceOf(req);
  const others = (known?.users ?? []).filter(([id]) => id !== user_id);
  return {
    id: known?.id ?? randomToken(''),
    users: [[user_id, req.ctx.clock.now().getTime()] as const, ...others].slice(0, maxUsers),
  };
}

/** Hands the browser its device cookie. */
export function setDevice(req: Request, res: Response, device: Device): void {
  setCookie(req, res, name, req.ctx.sealer.sealText(JSON.stringify(device), place(req)), knownForSeconds);
}

/** After a password change, which makes all browsers unknown to the account: keeps this one known, if it was so before. */
export function keepDevice(req: Request, res: Response, user_id: string): void {
  if (lastSignInHere(req, user_id) !== null) setDevice(req, res, deviceAfterSignIn(req, user_id));
}
