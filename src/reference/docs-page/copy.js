// Adds a copy button to every command. Without script the page has none, and a click on a command selects it.
for (const figure of document.querySelectorAll('figure.command')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', () => copy(figure.querySelector('code'), button))
  figure.querySelector('figcaption').append(button)
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent)
  } catch {
    // Browsers have no clipboard on pages without TLS, except from localhost.
    getSelection().selectAllChildren(code)
    if (!document.execCommand('copy')) return
  }
  button.textContent = 'Copied'
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 2000)
}
