import { z } from 'zod';
import { approvalConfirmations } from '../../db/tables/environments.js';
import { lifetime } from '../fields.js';
import type { Settable } from '../declaration.js';

const day = 86_400;

/** Of an environment: how people answer what clients ask them elsewhere (CIBA). */
export const approvalSettings = {
  // Longer, it leaves people time to be talked into it; weaker, whoever sits at an open browser approves.
  approval_lifetime: [
    'everything',
    lifetime(30, day).meta({
      description: 'How long people may answer what clients ask them elsewhere (CIBA), in seconds; a client may ask for less.',
    }),
  ],
  approval_confirmation: [
    'everything',
    z.enum(approvalConfirmations).meta({
      description:
        '`fresh` = who approves proves who they are anew, by a passkey, or a password and a second factor; `session` = the session does, if its class does.',
    }),
  ],
} as const satisfies Readonly<Record<string, Settable>>;
