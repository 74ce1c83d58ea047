import { cataloguePath } from '../cli/catalogue.js';
import { commandsFile } from './commands-file.js';
import { doctorReference } from './doctor-page.js';
import { dependenciesPage } from './dependencies-page.js';
import { errorsPage } from './errors-page.js';
import { eventsPage } from './events-page.js';
import { documentJsonSchemaText } from '../../management/configuration/document.js';
import { logLinesPage } from './log-lines-page.js';
import { mailTemplatesPage } from './mail-templates-page.js';
import { pageTextsPage } from './page-texts-page.js';
import { passwordHashesPage } from './password-hashes-page.js';
import { refusalRulesPage } from './refusal-rules-page.js';
import { securityEventsPage } from './security-events-page.js';

/** The documents and schemas that follow from the code, by path. `npm run docs` writes them; a test compares them. */
export const generatedPages = (): Readonly<Record<string, string>> => ({
  'docs/reference/dependencies.md': dependenciesPage(),
  'docs/reference/events.md': eventsPage(),
  'docs/reference/errors.md': errorsPage(),
  'docs/reference/doctor.md': doctorReference(),
  'docs/reference/log-lines.md': logLinesPage(),
  'docs/reference/mail-templates.md': mailTemplatesPage(),
  'docs/reference/page-texts.md': pageTextsPage(),
  'docs/reference/password-hashes.md': passwordHashesPage(),
  'docs/reference/refusal-rules.md': refusalRulesPage(),
  'docs/reference/security-events.md': securityEventsPage(),
  [cataloguePath]: commandsFile(),
  'schemas/config-v1.schema.json': documentJsonSchemaText(),
});
