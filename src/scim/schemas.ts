/** An attribute as schemas describe it (RFC 7643 7). */
export type Attribute = {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'reference' | 'binary' | 'complex';
  readonly description: string;
  readonly multiValued: boolean;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: 'readWrite' | 'readOnly' | 'immutable';
  readonly returned: 'default' | 'always';
  readonly uniqueness: 'none' | 'server';
  readonly referenceTypes?: readonly string[];
  readonly canonicalValues?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
};

export type Schema = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
};

/** What attributes of a kind differ in from a plain text that people may change. */
type Traits = Partial<Omit<Attribute, 'name' | 'description'>>;

const attribute = (name: string, description: string, traits: Traits = {}): Attribute => ({
  name,
  type: 'string',
  description,
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...traits,
});

const complex = (name: string, description: string, subAttributes: readonly Attribute[], traits: Traits = {}): Attribute =>
  attribute(name, description, { type: 'complex', subAttributes, ...traits });

/** A multi-valued attribute with the sub-attributes of RFC 7643 2.4. */
const several = (name: string, description: string, types: readonly string[] = [], value: Traits = {}): Attribute =>
  complex(
    name,
    description,
    [
      attribute('value', 'The value itself.', value),
      attribute('display', 'The value as people read it.'),
      attribute('type', 'What it is for.', types.length > 0 ? { canonicalValues: types } : {}),
      attribute('primary', 'Whether it is the preferred one.', { type: 'boolean' }),
    ],
    { multiValued: true },
  );

const readOnly: Traits = { mutability: 'readOnly' };
const link = (to: string): Traits => ({ type: 'reference', referenceTypes: [to], caseExact: true });

/** RFC 7643 4.1. `password` is ignored, and so it isn't here. */
export const userSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'A person.',
  attributes: [
    attribute('userName', 'How the directory names the person; the address where no email is given.', {
      required: true,
      uniqueness: 'server',
    }),
    complex('name', 'The parts of the name.', [
      attribute('formatted', 'The whole name.'),
      attribute('familyName', 'The family name.'),
      attribute('givenName', 'The given name.'),
      attribute('middleName', 'Middle names.'),
      attribute('honorificPrefix', 'Titles before the name.'),
      attribute('honorificSuffix', 'Suffixes behind the name.'),
    ]),
    attribute('displayName', 'The name as people read it.'),
    attribute('nickName', 'How the person is called.'),
    attribute('profileUrl', 'A page about the person.', { type: 'reference', referenceTypes: ['external'] }),
    attribute('title', 'The title, such as Vice President.'),
    attribute('userType', 'What the person is to the organization, such as Employee.'),
    attribute('preferredLanguage', 'The language that the person reads (RFC 9110 12.5.4).'),
    attribute('locale', 'How dates and numbers are written for the person (BCP 47).'),
    attribute('timezone', 'The time zone, by its name in the IANA database.'),
    attribute('active', 'Whether the person may sign in.', { type: 'boolean' }),
    several('emails', 'Email addresses; the primary one, or else that of work, is the account’s.', ['work', 'home', 'other']),
    several('phoneNumbers', 'Telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    several('ims', 'Addresses for instant messages.'),
    several('photos', 'Pictures of the person.', ['photo', 'thumbnail'], { type: 'reference', referenceTypes: ['external'] }),
    complex(
      'addresses',
      'Postal addresses.',
      [
        attribute('formatted', 'The whole address.'),
        attribute('streetAddress', 'Street and number.'),
        attribute('locality', 'The city.'),
        attribute('region', 'The state or region.'),
        attribute('postalCode', 'The postal code.'),
        attribute('country', 'The country (ISO 3166-1 alpha-2).'),
        attribute('type', 'What it is for.', { canonicalValues: ['work', 'home', 'other'] }),
        attribute('primary', 'Whether it is the preferred one.', { type: 'boolean' }),
      ],
      { multiValued: true },
    ),
    complex(
      'groups',
      'The groups of the directory that the person is in.',
      [
        attribute('value', 'The id of the group.', { ...readOnly, caseExact: true }),
        attribute('$ref', 'The address of the group.', { ...readOnly, ...link('Group') }),
        attribute('display', 'The name of the group.', readOnly),
        attribute('type', 'How the person is in it.', { ...readOnly, canonicalValues: ['direct'] }),
      ],
      { multiValued: true, ...readOnly },
    ),
    several('entitlements', 'What the directory says the person may do; nothing follows from it.'),
    several('roles', 'What the directory calls the person’s roles; nothing follows from them.'),
    several('x509Certificates', 'Certificates of the person.', [], { type: 'binary', caseExact: true }),
  ],
};

/** RFC 7643 4.3. */
export const enterpriseSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  name: 'EnterpriseUser',
  description: 'A person at work.',
  attributes: [
    attribute('employeeNumber', 'The number of the employee.'),
    attribute('costCenter', 'The cost center.'),
    attribute('organization', 'The organization.'),
    attribute('division', 'The division.'),
    attribute('department', 'The department.'),
    complex('manager', 'The person’s manager.', [
      attribute('value', 'The id of the manager.', { caseExact: true }),
      attribute('$ref', 'The address of the manager.', link('User')),
      attribute('displayName', 'The name of the manager.', readOnly),
    ]),
  ],
};

/** RFC 7643 4.2. */
export const groupSchema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  name: 'Group',
  description: 'A group of people.',
  attributes: [
    attribute('displayName', 'The name of the group.', { required: true }),
    complex(
      'members',
      'The people in the group.',
      [
        attribute('value', 'The id of the person.', { mutability: 'immutable', caseExact: true }),
        attribute('$ref', 'The address of the person.', { ...link('User'), mutability: 'immutable' }),
        attribute('type', 'What the member is.', { mutability: 'immutable', canonicalValues: ['User'] }),
      ],
      { multiValued: true },
    ),
  ],
};

/** RFC 7643 3.1: what every resource has, whatever its schemas. */
export const commonAttributes: readonly Attribute[] = [
  attribute('id', 'The id of the resource.', { ...readOnly, caseExact: true, returned: 'always', uniqueness: 'server' }),
  attribute('externalId', 'The id that the directory has for it.', { caseExact: true }),
  complex(
    'meta',
    'What the service says of the resource.',
    ['resourceType', 'created', 'lastModified', 'location', 'version'].map((name) =>
      attribute(name, `\`${name}\` (RFC 7643 3.1).`, readOnly),
    ),
    readOnly,
  ),
  attribute('schemas', 'The schemas of the resource.', { multiValued: true, returned: 'always', ...readOnly }),
];

/** A kind of resource: where it is and by which schemas it is read. */
export type ResourceType = {
  readonly name: 'User' | 'Group';
  readonly path: 'Users' | 'Groups';
  readonly schema: Schema;
  readonly extension: Schema | null;
};

export const userType: ResourceType = { name: 'User', path: 'Users', schema: userSchema, extension: enterpriseSchema };
export const groupType: ResourceType = { name: 'Group', path: 'Groups', schema: groupSchema, extension: null };

export const resourceTypes: readonly ResourceType[] = [userType, groupType];
