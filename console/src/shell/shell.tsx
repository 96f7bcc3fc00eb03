import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAppContext } from '../app-context.ts'
import { lazy } from '../components/lazy.tsx'
import { Mark } from '../components/mark.tsx'
import { Pill } from '../components/pill.tsx'
import { Loading } from '../components/query-result.tsx'
import { toZone } from '../format.ts'
import { toGuide } from '../guide.ts'
import { toHash } from '../hash.ts'
import { groupsFor, type Page } from '../navigation.ts'
import { readTheme, saveTheme, THEMES, type Theme } from '../theme.ts'

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
            <a href={toGuide()} target="_blank" rel="noopener">
              Documentation
            </a>
            <a href={toHash('account')} {...(page.name === 'account' ? { 'aria-current': 'page' } : {})}>
              <span class="breaks">{session.name}</span> <Pill tone="dim">{session.role}</Pill>
            </a>
            <small class="dim">Time zone: {toZone()}</small>
            <small class="dim">Version {session.version}</small>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <HealthStrip />
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

const HealthStrip = lazy(async () => (await import('./health-strip.tsx')).HealthStrip)
const SearchDialog = lazy(async () => (await import('./search-dialog.tsx')).SearchDialog)
const ShortcutsDialog = lazy(async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog)

type Tool = 'search' | 'shortcuts'

/** The tool that is open. `/` opens the search, `?` the list of shortcuts. */
function useTools(): readonly [Tool | undefined, (tool: Tool | undefined) => void] {
  const [open, setOpen] = useState<Tool>()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const tool = findTool(event)
      if (!tool) return
      event.preventDefault()
      setOpen(tool)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return [open, setOpen]
}

function ToolButtons({ onOpen }: { onOpen: (tool: Tool) => void }) {
  return (
    <div class="tools">
      <button
        type="button"
        class="small"
        aria-label="Search"
        title="Search (press /)"
        onClick={() => onOpen('search')}
      >
        Search <kbd>/</kbd>
      </button>
      <button
        type="button"
        class="small"
        aria-label="Shortcuts"
        title="Shortcuts (press ?)"
        onClick={() => onOpen('shortcuts')}
      >
        <kbd>?</kbd>
      </button>
    </div>
  )
}

/** Outside the navigation, which is hidden on a narrow screen. */
function ToolDialog({ open, onClose }: { open: Tool | undefined; onClose: () => void }) {
  if (open === 'search') return <SearchDialog onClose={onClose} />
  return open === 'shortcuts' ? <ShortcutsDialog onClose={onClose} /> : null
}

/** Undefined while the user types, a dialog is open, or the key belongs to the browser. */
function findTool({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): Tool | undefined {
  if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]')) return undefined
  if (
    target instanceof HTMLElement &&
    target.matches('input:not([type=radio], [type=checkbox]), textarea, select')
  )
    return undefined
  if (key === '/') return 'search'
  return key === '?' ? 'shortcuts' : undefined
}

type Loaded = { readonly page: Page; readonly Body?: ComponentType<{ rest: string }> }

/** Loads the code of a page and shows it. Loading fails if the server is down or has another version of the page. */
function LazyPage({ page, rest }: { page: Page; rest: string }) {
  const [loaded, setLoaded] = useState<Loaded>()
  useEffect(() => {
    let isCurrent = true
    const show = (found: Loaded) => {
      if (isCurrent) setLoaded(found)
    }
    page.load().then(
      (Body) => show({ page, Body }),
      () => show({ page }),
    )
    return () => {
      isCurrent = false
    }
  }, [page])
  if (loaded?.page !== page) return <Loading />
  const { Body } = loaded
  return Body ? <Body key={page.name} rest={rest} /> : <LoadFailed />
}

function LoadFailed() {
  return (
    <div class="note bad" role="alert">
      <p>This page could not be loaded. If the server was updated, reload the console.</p>
      <button type="button" class="small" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  )
}
