import { strategyOf, type StrategyName } from '../../domain/connections/strategies.js';
import type { Connection } from '../../domain/connections/connections.js';
import { apple } from './apple.js';
import { github } from './github.js';
import { google } from './google.js';
import { microsoft } from './microsoft.js';
import { oauth2 } from './oauth2.js';
import { oidc } from './oidc.js';
import { saml } from './saml.js';
import type { Strategy } from './strategy.js';

/** The behaviour of each strategy; its description is in `domain/connections/strategies.ts`, from which the names come. */
export const strategies: Readonly<Record<StrategyName, Strategy>> = { oidc, google, microsoft, apple, github, oauth2, saml };

/** How logins through this connection go. An `oidc` one without an issuer has no ID token that could be checked: userinfo it is. */
export function behaviourOf(connection: Pick<Connection, 'strategy' | 'issuer'>): Strategy | null {
  if (!Object.hasOwn(strategies, connection.strategy)) return null;
  const name = connection.strategy as StrategyName;
  const issuer = connection.issuer ?? strategyOf(name).issuer;
  return strategyOf(name).protocol === 'oidc' && issuer === null ? oauth2 : strategies[name];
}
