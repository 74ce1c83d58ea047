import { named } from '../../../lib/named.js';

type Json = Readonly<Record<string, unknown>>;

export type MovedRow = Record<string, unknown>;

/** What the command line was told beside the file. */
export type Choices = {
  /** Connections here, by the names of providers there. */
  readonly connections: ReadonlyMap<string, string>;
  /** Whether roles go along, by their names. */
  readonly roles: boolean;
  /** What a second file says of hashes. */
  readonly hashes: string | null;
};

/** How the users of a product become rows. */
export type Product = {
  readonly about: string;
  /** What has to be said beside the file, for `hashes`. */
  readonly second?: string;
  rows(text: string, choices: Choices): MovedRow[];
  /** What hashes of the product are checked with. */
  parameters?(hashes: string): { signer_key: string; salt_separator: string };
};

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const unpadded = (base64: unknown) => (text(base64) ?? '').replaceAll('=', '');

/** What is absent is left out of a row. */
const row = (members: Json): MovedRow => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
const lines = (file: string): Json[] => file.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line) as Json]));
const web = (value: unknown) => (/^https?:/.test(text(value) ?? '') ? text(value) : undefined);
const filled = (value: Json) => (Object.keys(value).length > 0 ? value : undefined);
const blockedIf = (blocked: boolean) => (blocked ? 'blocked' : undefined);

/** Accounts at providers that have a connection here. */
function accounts(found: readonly (readonly [provider: unknown, subject: unknown])[], { connections }: Choices) {
  const known = found.flatMap(([provider, subject]) => {
    const connection = connections.get(String(provider));
    return connection !== undefined && text(subject) !== undefined ? [{ connection, subject }] : [];
  });
  return known.length > 0 ? known : undefined;
}

/** Keycloak's password credential: PBKDF2 or, from 24 on, Argon2. */
function keycloakHash(credentials: unknown): string | undefined {
  const found = list(credentials).find(({ type }) => type === 'password');
  if (!found) return undefined;
  const secret = JSON.parse(text(found['secretData']) ?? '{}') as Json;
  const data = JSON.parse(text(found['credentialData']) ?? '{}') as Json;
  const [salt, value, rounds, algorithm] = [secret['salt'], secret['value'], data['hashIterations'], String(data['algorithm'])];
  if (algorithm === 'argon2') {
    const more = (data['additionalParameters'] ?? {}) as Readonly<Record<string, readonly string[]>>;
    const [type = 'id', memory, lanes] = [more['type']?.[0], more['memory']?.[0], more['parallelism']?.[0]];
    return `$argon2${type}$v=19$m=${memory},t=${String(rounds)},p=${lanes}$${unpadded(salt)}$${unpadded(value)}`;
  }
  const digest = algorithm === 'pbkdf2' ? 'sha1' : algorithm.replace('pbkdf2-', '');
  return `$pbkdf2-${digest}$i=${String(rounds)}$${String(salt)}$${String(value)}`;
}

const keycloak: Product = {
  about: 'the JSON that `kc.sh export` writes of a realm, or of its users',
  rows: (file, choices) =>
    list((JSON.parse(file) as Json)['users']).map((user) =>
      row({
        email: user['email'] ?? user['username'],
        email_verified: user['emailVerified'],
        first_name: text(user['firstName']),
        last_name: text(user['lastName']),
        preferred_username: text(user['username']),
        external_id: text(user['id']),
        status: blockedIf(user['enabled'] === false),
        metadata: isObject(user['attributes']) ? filled(user['attributes']) : undefined,
        password_hash: keycloakHash(user['credentials']),
        roles: choices.roles ? user['realmRoles'] : undefined,
        identities: accounts(list(user['federatedIdentities']).map((one) => [one['identityProvider'], one['userId']]), choices), // prettier-ignore
      }),
    ),
};

const auth0: Product = {
  about: 'the users that an export job writes as NDJSON',
  second: 'the NDJSON with `passwordHash` that Auth0 sends when you ask its support',
  rows(file, choices) {
    const hashes = new Map(lines(choices.hashes ?? '').map((one) => [String(one['email']).toLowerCase(), text(one['passwordHash'])]));
    return lines(file).map((user) => {
      const metadata = { ...(isObject(user['user_metadata']) ? user['user_metadata'] : {}), ...(isObject(user['app_metadata']) ? user['app_metadata'] : {}) }; // prettier-ignore
      return row({
        email: user['email'],
        email_verified: user['email_verified'],
        first_name: text(user['given_name']),
        last_name: text(user['family_name']),
        nickname: text(user['nickname']),
        picture: web(user['picture']),
        external_id: text(user['user_id']),
        status: blockedIf(user['blocked'] === true),
        metadata: filled(metadata),
        password_hash: text(user['passwordHash']) ?? hashes.get(String(user['email']).toLowerCase()),
        identities: accounts(list(user['identities']).map((one) => [one['connection'] ?? one['provider'], text(one['user_id']) ?? '']), choices), // prettier-ignore
      });
    });
  },
};

/** A member of the hash configuration as the Firebase console shows it: `base64_signer_key: ...,`. */
const configured = (config: string, name: string) => new RegExp(`${name}:\\s*"?([^\\s",]+)`).exec(config)?.[1] ?? '';

const firebase: Product = {
  about: 'the JSON that `firebase auth:export` writes',
  second: 'the text of "Password hash parameters" in the Firebase console (`hash_config { ... }`)',
  parameters: (config) => ({
    signer_key: configured(config, 'base64_signer_key'),
    salt_separator: configured(config, 'base64_salt_separator'),
  }),
  rows(file, choices) {
    const config = choices.hashes ?? '';
    const cost = `ln=${configured(config, 'mem_cost') || 14},r=${configured(config, 'rounds') || 8}`;
    return list((JSON.parse(file) as Json)['users']).map((user) => {
      const custom = text(user['customAttributes']);
      return row({
        email: user['email'],
        email_verified: user['emailVerified'],
        nickname: text(user['displayName']),
        picture: web(user['photoUrl']),
        phone_number: text(user['phoneNumber']),
        external_id: text(user['localId']),
        status: blockedIf(user['disabled'] === true),
        metadata: custom === undefined ? undefined : filled(JSON.parse(custom) as Json),
        password_hash: text(user['passwordHash']) && choices.hashes ? `$firebase-scrypt$${cost}$${String(user['salt'])}$${String(user['passwordHash'])}` : undefined, // prettier-ignore
        identities: accounts(list(user['providerUserInfo']).map((one) => [one['providerId'], one['rawId']]), choices), // prettier-ignore
      });
    });
  },
};

const cognito: Product = {
  about: 'the JSON that `aws cognito-idp list-users` writes',
  rows: (file) =>
    list((JSON.parse(file) as Json)['Users']).map((user) => {
      const attributes = new Map(list(user['Attributes']).map((one) => [String(one['Name']), text(one['Value'])]));
      const isTrue = (name: string) => (attributes.has(name) ? attributes.get(name) === 'true' : undefined);
      return row({
        email: attributes.get('email'),
        email_verified: isTrue('email_verified'),
        first_name: attributes.get('given_name'),
        last_name: attributes.get('family_name'),
        preferred_username: attributes.get('preferred_username'),
        locale: attributes.get('locale'),
        phone_number: attributes.get('phone_number'),
        phone_number_verified: isTrue('phone_number_verified'),
        external_id: attributes.get('sub'),
        status: blockedIf(user['Enabled'] === false),
        pending_migration: true,
      });
    }),
};

/** Django's name of a hasher stands before what it wrote; those that are no format of an import are left out. */
function djangoHash(stored: string | undefined): string | undefined {
  if (stored?.startsWith('pbkdf2_')) return stored;
  if (stored?.startsWith('argon2$')) return stored.slice('argon2'.length);
  if (stored?.startsWith('bcrypt$')) return stored.slice('bcrypt$'.length);
  return undefined;
}

const django: Product = {
  about: 'the JSON that `manage.py dumpdata auth.user` writes',
  rows: (file) =>
    list(JSON.parse(file)).map(({ pk, fields }) => {
      const user = isObject(fields) ? fields : {};
      return row({
        email: user['email'],
        first_name: text(user['first_name']),
        last_name: text(user['last_name']),
        preferred_username: text(user['username']),
        external_id: pk === undefined ? undefined : String(pk as string),
        status: blockedIf(user['is_active'] === false),
        password_hash: djangoHash(text(user['password'])),
      });
    }),
};

const ndjson: Product = { about: 'rows as an import takes them, such as the file of an export', rows: (file) => lines(file) };

/** Where users come from, by the name of the command. */
export const products: Readonly<Record<string, Product>> = named({ keycloak, auth0, firebase, cognito, django, ndjson });
