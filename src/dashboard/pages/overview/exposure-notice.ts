import type { Context } from '../../../domain/context.js';
import { isPublicDevelopment } from '../../../domain/environments/exposure.js';
import type { Part } from '../../parts/page-parts.js';

/** A warning for the overview and the settings while a development environment has a public address. */
export function exposureNotice({ config, environment }: Pick<Context, 'config' | 'environment'>): Part[] {
  if (!isPublicDevelopment(config, environment)) return [];
  const text = `This environment is of kind development, and ${config.baseUrl} is a public address. Set the kind to staging or production.`;
  return [{ kind: 'notice', tone: 'warning', text }];
}
