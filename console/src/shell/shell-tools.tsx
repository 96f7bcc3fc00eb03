import { useEffect, useState } from 'preact/hooks'
import { lazy } from '../components/lazy.tsx'

const SearchDialog = lazy(async () => (await import('./search-dialog.tsx')).SearchDialog)
const ShortcutsDialog = lazy(async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog)

type Tool = 'search' | 'shortcuts'

/** The tool that is open. `/` opens the search, `?` the list of shortcuts. */
export function useTools(): readonly [Tool | undefined, (tool: Tool | undefined) => void] {
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

export function ToolButtons({ onOpen }: { onOpen: (tool: Tool) => void }) {
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
export function ToolDialog({ open, onClose }: { open: Tool | undefined; onClose: () => void }) {
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
