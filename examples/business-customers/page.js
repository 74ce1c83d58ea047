const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const signedOut = '<p>Documents for teams.</p><p><a class="button" href="/login">Sign in</a></p>';

const switcher = ({ claims, organizations }) => `
  <nav aria-label="Organization">
    ${[...organizations].map(([id, name]) => (id === claims.org_id ? `<strong aria-current="true">${escape(name)}</strong>` : `<a href="/switch?organization=${encodeURIComponent(id)}">${escape(name)}</a>`)).join(' ')}
    <a href="/login?organization=choose">Other organization</a>
  </nav>`;

const memberRow = ({ email, roles, status }) =>
  `<tr><td>${escape(email)}</td><td>${escape(roles.join(', ') || 'none')}</td><td>${escape(status)}</td></tr>`;
const invitationRow = ({ email, status }) => `<tr><td>${escape(email)}</td><td colspan="2">Invitation ${escape(status)}</td></tr>`;

const people = ({ members, invitations, roles, mayInvite }) => `
  <h2>Members</h2>
  <table><thead><tr><th>Address</th><th>Roles</th><th>Status</th></tr></thead><tbody>
  ${members.map(memberRow).join('')}${invitations.map(invitationRow).join('')}</tbody></table>
  ${
    mayInvite
      ? `<h2>Invite someone</h2><form method="post" action="/invite">
    <label>Email address <input name="email" type="email" required></label>
    <label>Role <select name="role"><option value="">None</option>${roles.map(({ id, name }) => `<option value="${escape(id)}">${escape(name)}</option>`).join('')}</select></label>
    <button>Send invitation</button></form>`
      : ''
  }`;

const signedIn = (session, team) => `
  ${switcher(session)}
  <p>Signed in as <strong>${escape(session.claims.name ?? session.claims.email)}</strong>. Your roles here: ${escape((session.claims.roles ?? []).join(', ') || 'none')}.</p>
  ${team ? people(team) : '<p><a href="/members">Manage members</a></p>'}
  <form method="post" action="/logout"><button>Sign out</button></form>`;

/** The whole page; everything that comes from outside is escaped. */
export const page = (session, team, error) => `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documents</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 44rem; margin: 8vh auto; padding: 0 16px }
  nav, form { display: flex; flex-wrap: wrap; gap: 12px; align-items: end; margin-block: 16px }
  label { display: grid; gap: 4px }
  table { width: 100%; border-collapse: collapse }
  th, td { padding: 8px; text-align: start; border-block-end: 1px solid color-mix(in srgb, currentcolor 20%, transparent) }
  input, select { font: inherit; padding: 8px; min-height: 40px; box-sizing: border-box }
  button, .button { display: inline-block; padding: 8px 16px; min-height: 40px; border: 0; border-radius: 8px; background: #2b5fc7; color: #fff; font: inherit; text-decoration: none; cursor: pointer }
  :focus-visible { outline: 2px solid; outline-offset: 2px }
</style>
<main><h1>${session.claims ? escape(session.organizations.get(session.claims.org_id)) : 'Documents'}</h1>
${error ? `<p role="alert">${escape(error)}</p><p><a href="/">Go on</a></p>` : session.claims ? signedIn(session, team) : signedOut}
</main></html>`;
