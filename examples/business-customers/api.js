/** One request to the Management API, with the token of whoever is signed in or of the set-up. @throws {Error} what the service says is wrong */
export async function callApi(issuer, token, method, path, data) {
  const answer = await fetch(new URL(`/api/${path}`, issuer), {
    method,
    headers: { authorization: `Bearer ${token}`, ...(data && { 'content-type': 'application/vnd.api+json' }) },
    ...(data && { body: JSON.stringify({ data }) }),
  });
  const body = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) throw new Error(body.errors.map(({ detail, title }) => detail ?? title).join(' '));
  return body;
}

export const related = (type, id) => ({ data: { type, id } });
