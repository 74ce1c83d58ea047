import type { Context } from '../domain/context.js';
import { isPublicDevelopment } from '../domain/environments/exposure.js';
import type { Part } from './page-parts.js';
import { fill, sentences } from './words.js';

/** A warning for the overview and the settings while a development environment has a public address. */
export function exposureNotice({ config, environment }: Pick<Context, 'config' | 'environment'>): Part[] {
  if (!isPublicDevelopment(config, environment)) return [];
  const text = fill(sentences.this_environment_is_of_kind, { value: config.baseUrl });
  return [{ kind: 'notice', tone: 'warning', text }];
}
