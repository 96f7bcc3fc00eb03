import { useEffect, useRef, useState } from 'preact/hooks'
import { useAppContext } from '../app-context.ts'
import { Pill } from '../components/pill.tsx'
import { toZone } from '../format.ts'
import { toHash } from '../hash.ts'
import { groupsFor, type Page } from '../navigation.ts'
import { readTheme, saveTheme, THEMES, type Theme } from '../theme.ts'
import { LazyPage } from './lazy-page.tsx'
import { ToolButtons, ToolDialog, useTools } from './shell-tools.tsx'

export function Shell({ page, rest }: { page: Page; rest: string }) {
  const { session } = useAppContext()
  const [isOpen, setOpen] = useState(false)
  const [tool, setTool] = useTools()
  const heading = useRef<HTMLHeadingElement>(null)
  const isFirst = useRef(true)
  const { title } = page
  useEffect(() => {
    document.title = `${title} · Tabbat console`
    setOpen(false)
    // The first page keeps the focus at the top of the document.
    if (isFirst.current) isFirst.current = false
    else heading.current?.focus()
  }, [page, title])
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
          <ToolButtons onOpen={setTool} />
          <Navigation current={page.name} />
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
          {title}
        </h1>
        <LazyPage page={page} rest={rest} />
      </main>
      <ToolDialog open={tool} onClose={() => setTool(undefined)} />
    </div>
  )
}

function Navigation({ current }: { current: Page['name'] }) {
  const { session } = useAppContext()
  return (
    <nav aria-label="Main">
      {groupsFor(session.role).map(({ name: group, title, pages }) => (
        <div key={group}>
          <p id={`group-${group}`}>{title}</p>
          <ul aria-labelledby={`group-${group}`}>
            {pages.map(({ name, title }) => (
              <li key={name}>
                <a href={toHash(name)} {...(name === current ? { 'aria-current': 'page' } : {})}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme)
  const choose = (chosen: Theme) => {
    saveTheme(chosen)
    setTheme(chosen)
  }
  return (
    <select aria-label="Theme" value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
      {Object.entries(THEMES).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
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
