import { z } from 'zod';
import { boundedText, webUrl } from '../fields.js';

const maxMetadataBytes = 16_384;

const metadata = z
  .record(z.string().max(255), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, {
    message: 'must be at most 16 KiB of JSON',
    params: { code: 'too_long' },
  })
  .meta({ description: 'Any JSON object of at most 16 KiB; replaced as a whole.' });

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
/** An address as it is sent. */
export const email = z.string().min(3).max(254);

/** The OIDC standard claims that a person's profile holds (OIDC Core 5.1), under this service's names. */
export const profileAttributes = {
  first_name: name,
  last_name: name,
  middle_name: name,
  nickname: name,
  preferred_username: name,
  profile: webUrl.nullable(),
  picture: webUrl.nullable(),
  website: webUrl.nullable(),
  gender: boundedText(64).nullable(),
  birthdate: z
    .string()
    .regex(/^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|\d{4})$/, 'must be YYYY-MM-DD or YYYY')
    .nullable(),
  zoneinfo: boundedText(64)
    .refine(knownZone, { message: 'must be a time zone of the IANA database', params: { code: 'unknown_time_zone' } })
    .nullable(),
  locale: z
    .string()
    .max(35)
    .regex(/^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/, 'must be a BCP 47 language tag')
    .nullable(),
  phone_number: z
    .string()
    .max(32)
    .regex(/^\+?[0-9 ().;=a-z-]{3,31}$/i, 'must be a phone number, best in E.164 form')
    .nullable(),
  phone_number_verified: z.boolean(),
  address: address.nullable(),
};

const writable = {
  email_verified: z.boolean(),
  ...profileAttributes,
  external_id: boundedText(255).nullable(),
  metadata,
  password: z.string().min(1).max(1024).meta({ writeOnly: true, description: 'Never shown. The rules are those of registration.' }),
  password_hash: z
    .string()
    .max(512)
    .meta({ writeOnly: true, description: 'An argon2 (PHC form) or bcrypt hash from another system, instead of a password.' }),
};

/** What can be set on a user beside the address, all of it optional. */
export const settable = z.strictObject(writable).partial().shape;
