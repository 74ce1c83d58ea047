// Copy buttons, shown where copying works.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('[data-copy-from]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copyFrom)?.textContent ?? '');
      const label = button.textContent;
      button.textContent = button.dataset.copied ?? 'Copied';
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
}
