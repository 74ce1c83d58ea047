import type { Command } from 'commander';
import { administratorRole } from '../../domain/reach/management-permissions.js';
import { CliError, openApi, type ApiRecord } from './api.js';
import { one, type Shell } from './shell.js';

/** What the doctor names as a fix where nobody administers. */
export function addCreateAdministrator(program: Command, { options, show }: Shell): void {
  program
    .command('create-administrator <email>')
    .description('give somebody the role administrator; somebody new chooses a password by mail')
    .action(async (email: string) => {
      const call = openApi(options());
      const roles = (await call('GET', '/roles?page[size]=100')).data as ApiRecord[];
      const role = roles.find(({ attributes }) => attributes['name'] === administratorRole);
      if (!role) throw new CliError('there is no role administrator');
      const [known] = (await call('GET', `/users?${new URLSearchParams({ 'filter[email]': email })}`)).data as ApiRecord[];
      const linkage = [{ type: 'role', id: role.id }];
      if (known) {
        await call('POST', `/users/${known.id}/relationships/roles`, { document: { data: linkage } });
        return show(known, () => `administrator: ${email}`);
      }
      const document = { data: { type: 'user', attributes: { email }, relationships: { roles: { data: linkage } } } };
      const { data } = await call('POST', '/users', { document });
      await call('POST', `/users/${one(data).id}/send_password_reset`);
      return show(data, () => `administrator: ${email}, who gets a mail to choose a password`);
    });
}
