import { targetOf, type ResourceRegistry, type Relationship, type Resource } from './resource.js';
import { own } from '../lib/named.js';

type Verb = 'read' | 'write';

/** What an address under /api is, whoever asks: the path alone decides. */
export type Route =
  | { readonly kind: 'collection'; readonly resource: Resource }
  | { readonly kind: 'record'; readonly resource: Resource; readonly id: string }
  | { readonly kind: 'action'; readonly resource: Resource; readonly id: string; readonly verb: string }
  | { readonly kind: 'download'; readonly resource: Resource; readonly id: string }
  | {
      readonly kind: 'related';
      readonly resource: Resource;
      readonly id: string;
      readonly name: string;
      readonly relationship: Relationship;
    }
  | {
      readonly kind: 'linkage';
      readonly resource: Resource;
      readonly id: string;
      readonly name: string;
      readonly relationship: Relationship;
    };

/** An address under /api, taken apart once: the path, and the query with its question mark. */
export type Address = { readonly path: string; readonly query: string };

/** A slash at the end makes no other address (RFC 3986 6.2.4): it is left out of everything that is derived from the path. */
const withoutSlash = (path: string) => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

/** The address of a request. In the query what has no place in a URI (RFC 3986 3.4), such as brackets, is encoded. */
export function requestAddressOf(url: string): Address {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: withoutSlash(url), query: '' };
  return { path: withoutSlash(url.slice(0, mark)), query: url.slice(mark).replaceAll(/[^\w\-.~!$&'()*+,;=:@/?%]/g, encodeURIComponent) };
}

const decode = (segment: string): string | null => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
};

/**
 * The route of a path such as `/users/{id}/relationships/roles`, or null. Collections, verbs and relationship names are compared as they
 * were sent; only ids are decoded. An empty segment matches nothing.
 */
export function findRoute(registry: ResourceRegistry, path: string): Route | null {
  const segments = path.split('/').slice(1);
  if (segments.length === 0 || segments.length > 4 || segments.includes('')) return null;
  const [collection = '', rawId, third, fourth] = segments;
  const resource = registry.byPath.get(collection);
  if (!resource) return null;
  if (rawId === undefined) return { kind: 'collection', resource };
  const id = decode(rawId);
  if (id === null) return null;
  if (third === undefined) return { kind: 'record', resource, id };
  if (fourth !== undefined) {
    const relationship = third === 'relationships' ? own(resource.relationships, fourth) : undefined;
    return relationship ? { kind: 'linkage', resource, id, name: fourth, relationship } : null;
  }
  if (third === 'data' && resource.download) return { kind: 'download', resource, id };
  if (own(resource.actions, third)) return { kind: 'action', resource, id, verb: third };
  const relationship = own(resource.relationships, third);
  return relationship ? { kind: 'related', resource, id, name: third, relationship } : null;
}

/** The address of a route without its id, such as `/users/:id/roles`. */
export function patternOf(route: Route): string {
  const collection = `/${route.resource.path}`;
  switch (route.kind) {
    case 'collection':
      return collection;
    case 'record':
      return `${collection}/:id`;
    case 'action':
      return `${collection}/:id/${route.verb}`;
    case 'download':
      return `${collection}/:id/data`;
    case 'related':
      return `${collection}/:id/${route.name}`;
    case 'linkage':
      return `${collection}/:id/relationships/${route.name}`;
  }
}

/**
 * The methods that a route answers otherwise than with 405. Relationships take the changing ones even where they are then refused with 403, as JSON:API
 * wants it ("Updating Relationships").
 */
export function methodsOf(route: Route): string[] {
  const { resource } = route;
  const reading = ['GET', 'HEAD'];
  switch (route.kind) {
    case 'collection':
      return [...reading, ...(resource.create ? ['POST'] : [])];
    case 'record':
      return [...reading, ...(resource.update ? ['PATCH'] : []), ...(resource.remove ? ['DELETE'] : [])];
    case 'action':
      return [own(resource.actions, route.verb)?.method ?? 'PATCH'];
    case 'download':
      return ['GET'];
    case 'related':
      return reading;
    case 'linkage':
      return [...reading, 'PATCH', ...(route.relationship.kind === 'many' ? ['POST', 'DELETE'] : [])];
  }
}

/** The methods that may succeed, for `Allow` (RFC 9110 10.2.1). */
export function allowedMethodsOf(route: Route): string[] {
  if (route.kind !== 'linkage') return methodsOf(route);
  const change = route.relationship.kind === 'many' ? route.relationship.change : undefined;
  return ['GET', 'HEAD', ...(change?.replaces ? ['PATCH'] : []), ...(change ? ['POST', 'DELETE'] : [])];
}

/** What a request with the method reads, for its query and permissions. */
export function answeredResourceOf(registry: ResourceRegistry, route: Route): Resource {
  if (route.kind === 'related') return targetOf(registry, route.relationship);
  if (route.kind === 'action') {
    const type = own(route.resource.actions, route.verb)?.answers;
    return (type === undefined ? undefined : registry.byType.get(type)) ?? route.resource;
  }
  return route.resource;
}

export const verbOf = (method: string): Verb => (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
