/** What people say of themselves under the name that its claim has too (OIDC Core 5.1). Columns of `users`, claims, mappings and documents follow from this list. */
export const namesakes = [
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
] as const;

/** The columns that a person may edit. */
export const profileColumns = ['first_name', 'last_name', ...namesakes, 'phone_number'] as const;
export type ProfileColumn = (typeof profileColumns)[number];

/** The members of the `address` claim that a person may edit (OIDC Core 5.1.1). */
export const addressMembers = ['street_address', 'locality', 'region', 'postal_code', 'country'] as const;
export type AddressMember = (typeof addressMembers)[number];
