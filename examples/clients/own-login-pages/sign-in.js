const issuer = import.meta.env.VITE_ISSUER;
const form = document.querySelector('form');

/** A JSON step at the service, with the person's cookies. */
async function step(path, body) {
  const answer = await fetch(issuer + path, {
    method: 'POST',
    credentials: 'include',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { ok: answer.ok, ...(await answer.json()) };
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const return_to = new URLSearchParams(location.search).get('return_to') ?? undefined;
  const answer = await step('/login', { ...Object.fromEntries(new FormData(form)), return_to });
  if (!answer.ok) {
    form.querySelector('[role=alert]').textContent = answer.error_description;
    return;
  }
  // On to the request that waits, or to a second step, which the service asks for on its own page.
  if (return_to || !answer.user) return location.assign(issuer + answer.redirect_to);
  const { first_name, last_name, email } = answer.user;
  const signOut = document.createElement('button');
  signOut.append('Sign out');
  signOut.addEventListener('click', async () => {
    await step('/logout', {});
    location.reload();
  });
  document.body.replaceChildren(`Hello ${first_name} ${last_name}, ${email} `, signOut);
});
