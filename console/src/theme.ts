/** The themes, as the switch names them. */
export const THEMES = { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' } as const
export type Theme = keyof typeof THEMES

const STORAGE_KEY = 'tabbat-theme'

/** The browser keeps the theme, and nothing else. */
export function readTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement
  if (theme === 'auto') delete dataset.theme
  else dataset.theme = theme
}

export function saveTheme(theme: Theme): void {
  localStorage.setItem(STORAGE_KEY, theme)
  applyTheme(theme)
}

/** Calls back when the theme changes, by the switch or by the system. */
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
