import { useEffect, useRef, useState } from 'preact/hooks'
import { useAppContext } from './app-context.ts'
import { Pill } from './components/pill.tsx'
import { toZone } from './format.ts'
import { type Page, pagesFor } from './navigation.ts'
import { toHash } from './route.ts'
import { readTheme, saveTheme, THEMES, type Theme } from './theme.ts'

export function Shell({ page, rest }: { page: Page; rest: string }) {
  const { session } = useAppContext()
  const [isOpen, setOpen] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${page.title} · Tabbat console`
    setOpen(false)
    // The first page keeps the focus at the top of the document.
    if (isFirst.current) isFirst.current = false
    else heading.current?.focus()
  }, [page])
  const { Body } = page
  return (
    <div class="shell">
      <header class="side" data-open={isOpen}>
        <div class="brand">
          <a href={toHash('overview')}>
            <Mark /> Tabbat
          </a>
          <button
            type="button"
            class="plain small menu"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        </div>
        <div id="navigation" class="navigation">
          <nav aria-label="Main">
            <ul>
              {pagesFor(session.role).map(({ name, title }) => (
                <li key={name}>
                  <a href={toHash(name)} {...(name === page.name ? { 'aria-current': 'page' } : {})}>
                    {title}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <div class="foot">
            <ThemeSwitch />
            <a href={toHash('account')} {...(page.name === 'account' ? { 'aria-current': 'page' } : {})}>
              <span class="breaks">{session.name}</span> <Pill tone="dim">{session.role}</Pill>
            </a>
            <small class="dim">Time zone: {toZone()}</small>
            <small class="dim">Version {session.version}</small>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 ref={heading} tabIndex={-1}>
          {page.title}
        </h1>
        <Body key={page.name} rest={rest} />
      </main>
    </div>
  )
}

const THEME_LABELS: Readonly<Record<Theme, string>> = {
  auto: 'Theme: system',
  light: 'Theme: light',
  dark: 'Theme: dark',
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme)
  const choose = (chosen: Theme) => {
    saveTheme(chosen)
    setTheme(chosen)
  }
  return (
    <select aria-label="Theme" value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {THEME_LABELS[name]}
        </option>
      ))}
    </select>
  )
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M9 11h14M16 11v12" />
    </svg>
  )
}
