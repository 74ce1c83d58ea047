import { credentialPermissions } from '../../../src/management/configuration/described-credentials.js';
import { federated_credentials } from '../../../src/management/resources/federated_credentials.js';
import {
  collections,
  documentKinds,
  managementName,
  permissionsToReadKinds,
  settableAttributesOf,
  type Kind,
  type KindName,
} from '../../../src/management/configuration/kinds.js';
import { shopSecrets } from '../configuration.js';
import { managementClient, type Document } from '../management.js';
import { creations } from './creations.js';
import { detailType, interesting } from './interesting.js';
import { nearAndFar, writeOf, type Step } from './steps.js';
import { valuesOf } from './values.js';
import { outsideIssuer, type World } from './world.js';

/** A record that documents can name: a document that says something of it, and one of its collection without it. */
type Described = { readonly saying: (attributes: Document) => Document; readonly without?: Document };

const version1 = (collection: string, ...records: Document[]): Document => ({ version: 1, [collection]: records });
const listIn = (record: Document, name: string) => (record[name] ?? []) as Document[];
const others = (list: readonly Document[], one: Document, ...names: string[]) =>
  list.filter((other) => other !== one).map((other) => Object.fromEntries(names.map((name) => [name, other[name]])));

/** The members of an owner's list, each as the document that names it. */
function nested(exported: Document, collection: string, inner: string, keys: readonly string[]): Described[] {
  const owner = { clients: 'client_id', external_servers: 'issuer', connections: 'name' }[collection] ?? 'identifier';
  return listIn(exported, collection).flatMap((record) =>
    listIn(record, inner).map((one): Described => {
      const within = (...list: Document[]) => version1(collection, { [owner]: record[owner], [inner]: list });
      const named = Object.fromEntries(keys.map((key) => [key, one[key]]));
      return {
        saying: (attributes) => within({ ...named, ...attributes }),
        without: within(...others(listIn(record, inner), one, ...keys)),
      };
    }),
  );
}

/** A domain stands in the list of its organization by its name alone. The other organizations are named, or prune would delete them. */
function domainsOf(exported: Document): Described[] {
  const organizations = listIn(exported, 'organizations');
  return organizations.flatMap((one) => {
    const domains = one['domains'] as string[];
    const within = (list: readonly string[]) =>
      version1('organizations', { name: one['name'], domains: list }, ...others(organizations, one, 'name'));
    return domains.map((domain) => ({ saying: () => within(domains), without: within(domains.filter((other) => other !== domain)) }));
  });
}

/** What comes with the service: no document may say anything of it. */
const foreign: Partial<Readonly<Record<KindName, string>>> = { role: 'administrator', client: managementClient.id };

function describedOf({ type, key, resource }: Kind, exported: Document): Described[] {
  if (type === 'environment') return [{ saying: (attributes) => ({ version: 1, environment: attributes }) }];
  if (type === 'permission') return nested(exported, 'api_resources', 'permissions', ['name']);
  if (type === 'authorization_detail_type') return nested(exported, 'api_resources', 'authorization_detail_types', ['name']);
  if (type === 'organization_domain') return domainsOf(exported);
  if (type === 'client_grant') return nested(exported, 'clients', 'grants', ['api_resource', 'subject_type']);
  if (type === 'provider_grant') return nested(exported, 'connections', 'provider_grants', ['client']);
  if (type === 'outbound_grant') return nested(exported, 'external_servers', 'grants', ['client', 'role']);
  const [name, list] = [key as string, listIn(exported, resource.path)];
  // Texts of pages are known by their language too.
  const names = type === 'page_text' ? [name, 'locale'] : [name];
  const own = list.map((one): Described => ({
    saying: (attributes) => version1(resource.path, { ...Object.fromEntries(names.map((each) => [each, one[each]])), ...attributes }),
    without: version1(resource.path, ...others(list, one, ...names)),
  }));
  const system = foreign[type];
  return system === undefined ? own : [...own, { saying: (attributes) => version1(resource.path, { [name]: system, ...attributes }) }];
}

/** Documents that have a new record of a kind, beside the attribute that is walked. */
function newOf(type: KindName, world: World): ((attributes: Document) => Document)[] {
  const { resource } = documentKinds[type];
  if (type === 'permission')
    return [(more) => version1('api_resources', { identifier: 'https://api.example/near', permissions: [{ name: 'new', ...more }] })];
  if (type === 'authorization_detail_type')
    return [(more) => version1('api_resources', { identifier: 'https://api.example/near', authorization_detail_types: [{ ...detailType('new'), ...more }] })]; // prettier-ignore
  if (type === 'organization_domain')
    return ['near', 'far'].map(
      (name) =>
        ({ domain = 'new.example.net' }) =>
          version1('organizations', { name, domains: [domain] }),
    );
  if (type === 'client_grant')
    return [
      (more) => version1('clients', { client_id: world.id('client bare'), grants: [{ api_resource: managementName, scopes: [], ...more }] }),
      (more) => version1('clients', { client_id: world.id('client near'), grants: [{ api_resource: 'https://api.example/near', scopes: [], ...more }] }),
    ]; // prettier-ignore
  if (type === 'outbound_grant')
    return [(more) => version1('external_servers', { issuer: outsideIssuer, grants: [{ client: world.id('client bare'), external_client_id: 'new', ...more }] })]; // prettier-ignore
  if (type === 'provider_grant')
    return [(more) => version1('connections', { name: 'near', provider_grants: [{ client: world.id('client bare'), scopes: ['new'], ...more }] })]; // prettier-ignore
  return creations(resource, world).map(({ attributes }) => (more) => {
    // A secret is no attribute there.
    const base = Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== 'provider_client_secret'));
    const chosen = type === 'client' ? { client_id: 'new' } : {};
    return version1(resource.path, { ...base, ...chosen, ...more });
  });
}

/** What a document can set of one attribute: what the API is walked with, and null, which is the default. */
function attributeSets({ type }: Kind, name: string, schema: Parameters<typeof valuesOf>[0]): Document[] {
  const values = interesting[`${type}.${name}`] ?? valuesOf(schema).map((value) => ({ [name]: value }));
  return [...values, { [name]: null }];
}

/** References to secrets of the right form, and their absence. */
const secretSets: Readonly<Record<string, readonly unknown[]>> = {
  client_secret: [{ env: 'SHOP_SECRET' }],
  signing_secret: [{ env: 'SIEM_SIGNING' }],
  provider_client_secret: [{ env: 'ACME_SECRET' }, null],
  signals_token: [{ env: 'ACME_SIGNALS' }, null],
  authorization: [{ env: 'SIEM_AUTHORIZATION' }, null],
};

/** What a document says of other records that one is linked to. */
const linkSets: Partial<Readonly<Record<KindName, readonly Document[]>>> = {
  role: [
    { permissions: [{ api_resource: managementName, names: ['users:read'] }] },
    { permissions: [{ api_resource: managementName, names: ['signing_keys:write'] }] },
    { permissions: [{ api_resource: 'https://api.example/near', names: ['near'] }] },
    { permissions: [] },
  ],
  client: [
    { connections: ['far'] },
    { connections: [] },
    {
      federated_credentials: [{ trusted_issuer: 'https://far.platform.example', claims: { sub: 'walked' } }],
      token_endpoint_auth_method: 'private_key_jwt',
    },
    { federated_credentials: [] },
  ],
};

/** Attributes, secrets and links that a document can say of a record. @throws when nobody said how a secret of it looks */
function setsOf(kind: Kind, schema: Document | undefined): [name: string, sets: Document[]][] {
  const named = kind.secrets.map((name): [string, Document[]] => {
    const values = secretSets[name];
    if (!values) throw new Error(`the walk has no value for the secret ${name}: name some in test/support/reach/document-steps.ts`);
    return [name, values.map((value) => ({ [name]: value }))];
  });
  const links = linkSets[kind.type] ?? [];
  return [
    ...settableAttributesOf(kind)
      .filter(({ name }) => name !== kind.key && Object.hasOwn(schema ?? {}, name))
      .map(({ name, schema: one }): [string, Document[]] => [name, attributeSets(kind, name, one)]),
    ...named,
    ...[...new Set(links.map((set) => Object.keys(set)[0] ?? ''))].map((name): [string, Document[]] => [
      name,
      links.filter((set) => Object.keys(set)[0] === name),
    ]),
  ];
}

function stepOf(kind: Kind, what: string, document: Document, more: Document = {}): Step {
  const owners: Partial<Readonly<Record<KindName, KindName>>> = { permission: 'api_resource', authorization_detail_type: 'api_resource', client_grant: 'client', organization_domain: 'organization' }; // prettier-ignore
  const owner = owners[kind.type];
  const around = owner === undefined ? [] : [documentKinds[owner]];
  const body = { meta: { document, secrets: shopSecrets, ...more } };
  const proofs = what.endsWith('federated_credentials') ? [...credentialPermissions, writeOf(federated_credentials)] : [];
  const needs = ['environments:read', ...permissionsToReadKinds([kind, ...around]), writeOf(kind.resource), ...proofs];
  return { pair: `${what} in a document`, resource: kind.resource, method: 'POST', path: '/config/apply', body, needs };
}

function stepsOfKind(kind: Kind, exported: Document, world: World, random: () => number): Step[] {
  const { type, resource } = kind;
  const records = describedOf(kind, exported);
  const reaches = (name: string) => resource.reach.attributes[name]?.startsWith('reach') === true;
  const updates = setsOf(kind, resource.update?.schema.shape).flatMap(([name, sets]) =>
    sets.flatMap((set) =>
      (reaches(name) || kind.secrets.includes(name) || name === 'federated_credentials' ? records : nearAndFar(records, random)).map(
        ({ saying }) => stepOf(kind, `update ${type}.${name}`, saying(set)),
      ),
    ),
  );
  const bases = resource.create && type !== 'environment' ? newOf(type, world) : [];
  const creation = setsOf(kind, resource.create?.schema.shape).flatMap(([name, sets]) =>
    sets.flatMap((set) => bases.map((base) => stepOf(kind, `create ${type}.${name}`, base(set)))),
  );
  const deletions = records.flatMap(({ without }) => (without ? [stepOf(kind, `delete ${type}`, without, { prune: true })] : []));
  return [...bases.map((base) => stepOf(kind, `create ${type}`, base({}))), ...creation, ...updates, ...deletions];
}

/**
 * Every kind of record of configuration documents, with every attribute, secret and link that they can say of it: new ones, those that are there,
 * and what prune deletes. What the walk needs to know of a new attribute is in `interesting.ts`.
 */
export function documentStepsOf(exported: Document, world: World, random: () => number): Step[] {
  const listed = new Set(Object.values(collections).map((type) => documentKinds[type].resource.path));
  const unknown = [...listed].filter((path) => !Array.isArray(exported[path]));
  if (unknown.length > 0) throw new Error(`the exported document has no ${unknown.join(', ')}`);
  return Object.values(documentKinds).flatMap((kind) => stepsOfKind(kind, exported, world, random));
}
