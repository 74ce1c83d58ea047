import { registryOf } from '../resource.js';
import { api_resources } from './api_resources.js';
import { client_grants } from './client_grants.js';
import { clients } from './clients.js';
import { environments } from './environments.js';
import { permissions } from './permissions.js';
import { roles } from './roles.js';
import { sessions } from './sessions.js';
import { users } from './users.js';

/** The resources of the Management API. Routes, permissions, documents, OpenAPI and the reference page follow from this list. */
export const resources = [users, roles, permissions, clients, client_grants, api_resources, sessions, environments] as const;

/** The same by type and by path. */
export const registry = registryOf(resources);
