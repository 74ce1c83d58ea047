import { doctorPage } from './doctor-page.js';
import { errorsPage } from './errors-page.js';
import { eventsPage } from './events-page.js';
import { guidePages } from './guides.js';
import { securityEventsPage } from './security-events-page.js';

/** The documents that follow from the code, and those that show files of it, by path. `npm run docs` writes them; a test compares them. */
export function generatedPages(): Readonly<Record<string, string>> {
  return {
    'docs/events.md': eventsPage(),
    'docs/errors.md': errorsPage(),
    'docs/doctor.md': doctorPage(),
    'docs/security-events.md': securityEventsPage(),
    ...guidePages(),
  };
}
