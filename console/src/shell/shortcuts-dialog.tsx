import { Dialog } from '../components/dialog.tsx'

const SHORTCUTS = [
  ['/', 'search for a page, key, request or verification'],
  ['?', 'show these shortcuts'],
  ['Esc', 'close a dialog'],
  ['Enter', 'in the search: open the first result'],
] as const

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <dl class="facts">
        {SHORTCUTS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}
