import { z } from 'zod';
import { boundedText, webUrl } from '../fields.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Settable } from '../declaration.js';

const maxMetadataBytes = 16_384;

export const metadataAttribute = z
  .record(z.string().max(255), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, {
    message: 'must be at most 16 KiB of JSON',
    params: { code: 'too_long' },
  });

const address = z.strictObject({
  formatted: z.string().max(1024).optional(),
  street_address: z.string().max(512).optional(),
  locality: boundedText(255, 0).optional(),
  region: boundedText(255, 0).optional(),
  postal_code: boundedText(64, 0).optional(),
  country: boundedText(255, 0).optional(),
});

const knownZone = (zone: string) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

const name = boundedText(255).nullable();

export const settable = {
  email: ['control', z.string().min(3).max(254), 'needed'],
  email_verified: [
    'control',
    z.boolean().meta({ description: 'Whether the address was proven; another address is unproven unless the same request says so.' }),
  ],
  // The OIDC standard claims that a person's profile holds (OIDC Core 5.1), under this service's names.
  first_name: ['plain', name],
  last_name: ['plain', name],
  middle_name: ['plain', name],
  nickname: ['plain', name],
  preferred_username: ['plain', name],
  profile: ['plain', webUrl.nullable()],
  picture: ['plain', webUrl.nullable()],
  website: ['plain', webUrl.nullable()],
  gender: ['plain', boundedText(64).nullable()],
  birthdate: [
    'plain',
    z
      .string()
      .regex(/^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|\d{4})$/, 'must be YYYY-MM-DD or YYYY')
      .nullable(),
  ],
  zoneinfo: [
    'plain',
    boundedText(64)
      .refine(knownZone, { message: 'must be a time zone of the IANA database', params: { code: 'unknown_time_zone' } })
      .nullable(),
  ],
  locale: [
    'plain',
    z
      .string()
      .max(35)
      .regex(/^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/, 'must be a BCP 47 language tag')
      .nullable(),
  ],
  phone_number: [
    'control',
    z
      .string()
      .max(32)
      .regex(/^\+?[0-9 ().;=a-z-]{3,31}$/i, 'must be a phone number, best in E.164 form')
      .nullable(),
  ],
  phone_number_verified: ['control', z.boolean()],
  address: ['plain', address.nullable()],
  // Who the person is to another system: moved, it is free for somebody else.
  external_id: ['control', boundedText(255).nullable()],
  metadata: ['plain', metadataAttribute],
  // Whoever answers for the system that the person came from signs in as the person.
  pending_migration: ['control', z.boolean()],
  password: [
    'control',
    z.string().min(1).max(1024).meta({ writeOnly: true, description: 'Never shown. The rules are those of registration.' }),
  ],
  password_hash: [
    'control',
    z.string().max(512).meta({
      writeOnly: true,
      description:
        'A hash from another system, instead of a password: argon2 (PHC form), bcrypt, PBKDF2 (PHC form, Django), ASP.NET Core Identity.',
    }),
  ],
} as const satisfies Readonly<Record<string, Settable>>;

const withheld = ['password', 'password_hash'];

/** What of a user an export has, under the names that an import takes; hashes apart. */
export const exportedAttributes = Object.keys(settable).filter((name) => !withheld.includes(name)) as (keyof UserRow)[];
