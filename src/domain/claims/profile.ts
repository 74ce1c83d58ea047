/** The columns that a person may edit (OIDC Core 5.1 under their names here). */
export const profileColumns = [
  'first_name',
  'last_name',
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
  'phone_number',
] as const;
export type ProfileColumn = (typeof profileColumns)[number];

/** The members of the `address` claim that a person may edit (OIDC Core 5.1.1). */
export const addressMembers = ['street_address', 'locality', 'region', 'postal_code', 'country'] as const;
export type AddressMember = (typeof addressMembers)[number];
