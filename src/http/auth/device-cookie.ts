import type { Request, Response } from 'express';
import { deviceAfter, knownForSeconds, lastSignInWith, type Device } from '../../domain/sessions/known-browsers.js';
import { cookieName, readCookie, setCookie } from '../request/cookies.js';

const name = 'device';
const maxLength = 2048;

/** Sealed for the environment: another one's cookie says nothing here, and nobody can write one. */
const aadOf = (req: Request) => `device ${req.ctx.environment.id}` as const;

/** The content of the browser's device cookie; null without one, and when it doesn't open. */
export function cookieDeviceOf(req: Request): Device | null {
  const sealed = readCookie(req, cookieName(req, name));
  if (sealed === undefined || sealed.length > maxLength) return null;
  const text = req.ctx.crypto.sealer.openText(sealed, aadOf(req));
  return text === null ? null : (JSON.parse(text) as Device);
}

/** When the user last signed in with this browser, by its device cookie. */
export const lastSignInHere = (req: Request, user_id: string): Date | null => lastSignInWith(cookieDeviceOf(req), user_id);

/** Hands the browser its device cookie. */
export function setDevice(req: Request, res: Response, device: Device): void {
  setCookie(req, res, name, req.ctx.crypto.sealer.sealText(JSON.stringify(device), aadOf(req)), knownForSeconds);
}

/** After a password change, which makes all browsers unknown to the account: keeps this one known, if it was so before. */
export function keepDevice(req: Request, res: Response, user_id: string): void {
  const device = cookieDeviceOf(req);
  if (lastSignInWith(device, user_id) !== null) setDevice(req, res, deviceAfter(device, user_id, req.ctx.clock.now()));
}
