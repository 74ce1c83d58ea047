import { z } from 'zod';
import { nameAuthenticator, takeAuthenticator } from '../../domain/credentials/authenticator-administration.js';
import { importAuthenticator } from '../../domain/credentials/authenticator-import.js';
import { completeMoveIn, importedKinds, moveInProblems, type MoveInInput } from '../../domain/credentials/authenticator-move-in.js';
import { reachOfOwner } from '../../domain/reach/reach-of.js';
import { authenticatorKinds, totpAlgorithms, type AuthenticatorRow } from '../../db/tables/authenticators.js';
import type { UserRow } from '../../db/tables/users.js';
import { boundedText, byIndex, equalTo, indexed, isoTime, shownName, stamps, stampSorts, timeRange, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const kind = z.enum(authenticatorKinds);
const status = z.enum(['pending', 'active']);
const name = shownName(100);

/** RFC 4648 5, without padding. */
const base64url = (max: number) => z.string().min(1).max(max).regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding'); // prettier-ignore

/** When it was last used; before all others for what never was. */
const lastUsed = `(coalesce(authenticators.last_used_at, '-infinity'::timestamptz))`;

const moved = (schema: z.ZodType) => ['control', schema, 'fixed'] as const;

/** What an import says beside what is shown: which kind it is of, and what it is when left out. */
const moveIn = {
  secret: moved(
    z.string().min(1).max(300).meta({
      writeOnly: true,
      description: 'Of `totp`, and needed for it: the shared secret in base32 (RFC 4648 6), 16 to 128 bytes. Sealed; never shown.',
    }),
  ),
  algorithm: moved(z.enum(totpAlgorithms).meta({ description: 'Of `totp`: the hash function (RFC 6238 1.2); SHA1 unless given.' })),
  digits: moved(z.literal([6, 8]).meta({ description: 'Of `totp`: how long its codes are; 6 unless given.' })),
  period: moved(z.int().min(15).max(60).meta({ description: 'Of `totp`: how long each is good, in seconds; 30 unless given.' })),
  credential_id: moved(
    base64url(1364).meta({ writeOnly: true, description: 'Of `passkey`, and needed for it: the credential id in base64url. Never shown.' }),
  ),
  public_key: moved(
    base64url(2048).meta({
      writeOnly: true,
      description: 'Of `passkey`, and needed for it: the COSE key (RFC 9052 7) in base64url, of algorithm -8, -7 or -257. Never shown.',
    }),
  ),
  rp_id: moved(
    z.string().min(1).max(253).meta({
      description:
        'Of `passkey`, and needed for it: its domain, which has to be that of the environment’s passkeys (`passkey_rp_id`, or the issuer’s host).',
    }),
  ),
  sign_count: moved(
    z.int().min(0).max(4_294_967_295).meta({ description: 'Of `passkey`: the signature counter when it was last used; 0 unless given.' }),
  ),
  transports: moved(
    uniqueTexts(boundedText(32), 10).meta({ description: 'Of `passkey`: how browsers reach its authenticator; none unless given.' }),
  ),
  backup_eligible: moved(
    z.boolean().meta({
      description:
        'Of `passkey`, and needed for it: whether it can be synced, as the flag BE of its registration says (WebAuthn L3 6.1.3). A passkey that states otherwise later is refused.',
    }),
  ),
};

/** What people sign in with beside a password: never a key, a secret or a digest. */
export const authenticators = resource<AuthenticatorRow, MoveInInput, { name?: string }>({
  type: 'authenticator',
  path: 'authenticators',
  description:
    'Passkeys, authenticator apps and recovery codes of users. People enrol them; POST moves one in from another system. Keys and secrets are never shown.',
  attributes: z.object({
    kind,
    name: z.string(),
    status,
    rp_id: z.string().nullable(),
    aaguid: z.string().nullable(),
    transports: z.array(z.string()).nullable(),
    backup_eligible: z.boolean().nullable(),
    backed_up: z.boolean().nullable(),
    codes_left: z.int().nullable(),
    last_used_at: isoTime.nullable(),
    expires_at: isoTime.nullable(),
    ...stamps,
  }),
  hidden: ['algorithm', 'digits', 'period', 'sign_count'],
  reach: { of: reachOfOwner },
  // Whoever may write what signs somebody in could sign in as them; by its name the owner knows which one to keep.
  settable: { kind: ['control', z.enum(importedKinds), 'needed and fixed'], name: ['control', name], ...moveIn },
  relationships: { user: toOne('user', 'Whom it signs in.', { create: 'required' }) },
  filters: {
    user: byIndex(equalTo('user_id', uuid, 'Of one of these users (ids).')),
    kind: equalTo('kind', kind, 'Of one of these kinds.'),
    status: equalTo('status', status, 'Active, or waiting for its first code.'),
    last_used_at: timeRange('last_used_at', 'When it was last used.', lastUsed),
  },
  sorts: indexed({ ...stampSorts('authenticators'), last_used_at: { expression: lastUsed, type: 'timestamptz' } }),
  create: {
    audit: 'moved_in',
    problems: (ctx, input) => moveInProblems(ctx, input),
    async run(tx, actor, input, related) {
      const user = related['user'] as unknown as UserRow;
      return { row: await importAuthenticator(tx, actor, user.id, completeMoveIn(input), actor.origin) };
    },
  },
  update: {
    run: async (tx, _actor, row, input) => ({ row: input.name === undefined ? row : await nameAuthenticator(tx, row, input.name) }),
  },
  remove: { run: async (tx, actor, row) => takeAuthenticator(tx, actor, row), audit: 'removed' },
  display: (row) => row.name,
});
