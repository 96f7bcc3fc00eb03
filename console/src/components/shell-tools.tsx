import { useEffect, useState } from 'preact/hooks'
import { searchTexts as texts } from '../texts/en/search.ts'
import { SearchDialog } from './search-dialog.tsx'
import { ShortcutsDialog } from './shortcuts-dialog.tsx'

type Tool = 'search' | 'shortcuts'

/** The search and the list of shortcuts, by button or key. */
export function ShellTools() {
  const [open, setOpen] = useState<Tool>()
  const close = () => setOpen(undefined)
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
  return (
    <>
      <div class="tools">
        <button
          type="button"
          class="small"
          aria-label={texts.search}
          title={texts.toOpen}
          onClick={() => setOpen('search')}
        >
          {texts.search} <kbd>/</kbd>
        </button>
        <button
          type="button"
          class="small"
          aria-label={texts.shortcuts}
          title={texts.toShortcuts}
          onClick={() => setOpen('shortcuts')}
        >
          <kbd>?</kbd>
        </button>
      </div>
      {open === 'search' && <SearchDialog onClose={close} />}
      {open === 'shortcuts' && <ShortcutsDialog onClose={close} />}
    </>
  )
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
