import type { totpAlgorithms } from '../../db/tables/authenticators.js';
import { type Problem, unfit } from '../refusal.js';
import { defaultName } from '../authenticators/enrolment.js';
import { importProblems, type ImportedAuthenticator } from './authenticator-import.js';
import { totpDefaults } from '../authenticators/totp.js';

/** The kinds that can be moved in: recovery codes are known to nobody but their owner. */
export const importedKinds = ['totp', 'passkey'] as const;
type ImportedKind = (typeof importedKinds)[number];

/** What an import names; which of it goes with which kind, {@link moveInProblems} says. */
export type MoveInInput = {
  readonly kind: ImportedKind;
  readonly name?: string;
  readonly secret?: string;
  readonly algorithm?: (typeof totpAlgorithms)[number];
  readonly digits?: 6 | 8;
  readonly period?: number;
  readonly credential_id?: string;
  readonly public_key?: string;
  readonly rp_id?: string;
  readonly sign_count?: number;
  readonly transports?: string[];
  readonly backup_eligible?: boolean;
};

type Attribute = Exclude<keyof MoveInInput, 'kind' | 'name'>;

/** The attributes of each kind: those that it needs, and those that have a default. */
const attributesOf: Readonly<Record<ImportedKind, { readonly needed: readonly Attribute[]; readonly optional: readonly Attribute[] }>> = {
  totp: { needed: ['secret'], optional: ['algorithm', 'digits', 'period'] },
  passkey: { needed: ['credential_id', 'public_key', 'rp_id', 'backup_eligible'], optional: ['sign_count', 'transports'] },
};

/** The input with the defaults of its kind, those of the Key Uri Format for a TOTP. */
export function completeMoveIn(input: MoveInInput): ImportedAuthenticator {
  const { kind, name = defaultName(kind) } = input;
  if (kind === 'totp') {
    const { secret = '', algorithm = totpDefaults.algorithm, digits = totpDefaults.digits, period = totpDefaults.period } = input;
    return { kind, name, secret, algorithm, digits, period };
  }
  const { credential_id = '', public_key = '', rp_id = '', sign_count = 0, transports = [], backup_eligible = false } = input;
  return { kind, name, credential_id, public_key, rp_id, sign_count, transports, backup_eligible };
}

/** Everything that is wrong with an import, as far as the given input tells; nothing without a kind. */
export function moveInProblems(ctx: Parameters<typeof importProblems>[0], input: Partial<MoveInInput>): Problem[] {
  const { kind } = input;
  if (kind === undefined) return [];
  const { needed, optional } = attributesOf[kind];
  const own: readonly string[] = ['kind', 'name', ...needed, ...optional];
  const missing = needed.filter((name) => input[name] === undefined);
  return [
    ...missing.map((name): Problem => {
      return unfit(name, 'required', `The kind ${kind} needs ${name}.`);
    }),
    ...Object.keys(input)
      .filter((name) => !own.includes(name))
      .map((name): Problem => {
        return unfit(name, 'unknown_attribute', `The kind ${kind} has no ${name}.`);
      }),
    ...importProblems(ctx, completeMoveIn({ ...input, kind })).filter(({ attribute }) => !missing.includes(attribute as Attribute)),
  ];
}
