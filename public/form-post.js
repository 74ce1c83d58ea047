// OAuth 2.0 Form Post Response Mode: sends the answer on at once. A classic script, for browsers that run no modules have to get on too; `submit` of
// the prototype, as a field may bear that name.
{
  const form = document.getElementById('form-post');
  if (form) HTMLFormElement.prototype.submit.call(form);
}
