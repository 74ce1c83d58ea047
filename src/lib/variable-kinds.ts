import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** `count/seconds`: how many requests a window of that many seconds allows. */
export type RateLimit = { readonly limit: number; readonly windowSeconds: number };

export const integer = (fallback: number, min: number, max: number) =>
  z.coerce.number('must be a number').int('must be a whole number').min(min).max(max).default(fallback);

export const onOff = z.enum(['on', 'off'], 'must be on or off').transform((word) => word === 'on');

/** `10/60`. */
export const rateLimit = (fallback: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,8}\/[1-9]\d{0,5}$/, 'must look like 10/60 (requests/seconds)')
    .default(fallback)
    .transform((text): RateLimit => {
      const [limit = 0, windowSeconds = 0] = text.split('/').map(Number);
      return { limit, windowSeconds };
    });

/** `19456/2`: KiB of memory and passes of argon2id; no cheaper than OWASP's cheapest choice, no dearer than what is taken of other systems. */
export const passwordCost = (fallback: string) =>
  z
    .string()
    .regex(/^[1-9]\d{3,5}\/[1-9]\d?$/, 'must look like 19456/2 (KiB/passes)')
    .default(fallback)
    .transform((text) => {
      const [memoryCost = 0, timeCost = 0] = text.split('/').map(Number);
      return { memoryCost, timeCost };
    })
    .refine(({ memoryCost, timeCost }) => memoryCost >= 7168 && memoryCost * timeCost >= 35_840, 'must cost as much as 7168/5 at least')
    .refine(
      ({ memoryCost, timeCost }) => memoryCost <= 262_144 && timeCost <= 16 && memoryCost * timeCost <= 622_592,
      'must cost as much as 262144/2 at most',
    );

export const origin = z.string().refine((text) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, '');
}, 'must be an http or https origin without a path, such as https://id.example.com');

const isRangeUrl = (text: string) => URL.canParse(text) && /^https?:\/\/[^#@]*[/=]$/.test(text);

/** What five digits of a hash can be added to, or `off`. */
export const rangeUrl = z
  .string()
  .refine(
    (text) => text === 'off' || isRangeUrl(text),
    'must be off, or an http or https address to which five digits are added: https://api.pwnedpasswords.com/range/',
  );

/** Pwned Passwords. */
export const publicRangeUrl = 'https://api.pwnedpasswords.com/range/';

/** The base address of a collector of traces, as the address that spans are POSTed to. */
export const collectorUrl = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^https?:\/\/[^?#]+$/.test(text),
    'must be the http or https base address of a collector, such as http://localhost:4318',
  )
  .transform((text) => `${text.replace(/\/$/, '')}/v1/traces`);

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Which traces are recorded, as the OpenTelemetry specification calls the ways. */
export const sampler = z.enum(samplers, `must be one of ${samplers.join(', ')}`);

/** A part of all, from 0 to 1. */
export const fraction = z.coerce
  .number('must be a number from 0 to 1')
  .min(0, 'must be a number from 0 to 1')
  .max(1, 'must be a number from 0 to 1');

/** A zod text that is invalid, with the message of `problemOf`, unless that returns null. */
export const sound = (problemOf: (text: string) => string | null) =>
  z.string().superRefine((text, refinement) => {
    const problem = problemOf(text);
    if (problem !== null) refinement.addIssue({ code: 'custom', message: problem });
  });

/** An address for reports of vulnerabilities, as RFC 9116 2.5.3 wants it: a URI. A mail address alone becomes one. */
export const securityContact = z
  .string()
  .refine(
    (text) => z.email().safeParse(text.replace(/^mailto:/, '')).success || (URL.canParse(text) && /^https:\/\/[\x21-\x7e]+$/.test(text)),
    'must be a mail address or an https address, such as security@example.com',
  )
  .transform((text) => (/^(https|mailto):/.test(text) ? text : `mailto:${text}`));

export const commaList = (text: string) => text.split(',').map((item) => item.trim());

const isNetwork = (text: string) =>
  ['loopback', 'linklocal', 'uniquelocal'].includes(text) || ipaddr.isValid(text) || ipaddr.isValidCIDR(text);

/** As Express takes `trust proxy`. */
export const trustProxy = z
  .string()
  .refine(
    (text) => /^(off|false|on|true|\d+)$/.test(text) || text.split(',').every((item) => isNetwork(item.trim())),
    'must be off, a number of proxies, or their addresses or networks, separated by commas',
  )
  .transform((text): boolean | number | string => {
    if (text === 'off' || text === 'false') return false;
    if (text === 'on' || text === 'true') return true;
    return /^\d+$/.test(text) ? Number(text) : text;
  });

export const cellName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 lower-case letters, digits and hyphens');
export const smtpAddress = z.string().regex(/^smtps?:\/\//, 'must be an smtp:// or smtps:// address');
export const redisAddress = z.string().regex(/^rediss?:\/\//, 'must be a redis:// address');
