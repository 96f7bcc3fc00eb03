export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const PLACE = 'tabbat-theme'

/** The only thing that this page keeps in the browser. */
export function readTheme(): Theme {
  const kept = localStorage.getItem(PLACE)
  return THEMES.find((theme) => theme === kept) ?? 'auto'
}

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'auto') delete dataset.theme
  else dataset.theme = theme
}

export function keepTheme(theme: Theme): void {
  localStorage.setItem(PLACE, theme)
  applyTheme(theme)
}

/** Calls back whenever the page turns light or dark, by the switch or by the system. */
export function watchTheme(onChange: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', onChange)
  return () => {
    observer.disconnect()
    system.removeEventListener('change', onChange)
  }
}
