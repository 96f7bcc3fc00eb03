import { searchTexts as texts } from '../texts/en/search.ts'
import { Dialog } from './dialog.tsx'

const SHORTCUTS = [
  ['/', texts.keys.search],
  ['?', texts.keys.help],
  [texts.escape, texts.keys.close],
  [texts.enter, texts.keys.first],
] as const

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={texts.shortcuts} onClose={onClose}>
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
          {texts.close}
        </button>
      </footer>
    </Dialog>
  )
}
