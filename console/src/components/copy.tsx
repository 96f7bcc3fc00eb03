import { useEffect, useState } from 'preact/hooks'
import { ScrollBox } from './table.tsx'

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2000)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () =>
    writeClipboard(text).then(
      () => setState('copied'),
      () => setState('failed'),
    )
  return (
    <button type="button" class="small" onClick={copy} aria-label={`Copy ${what}`}>
      <span aria-live="polite">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'Select and copy' : 'Copy'}
      </span>
    </button>
  )
}

/** Browsers offer the clipboard only over https and on loopback. */
async function writeClipboard(text: string): Promise<void> {
  if (!navigator.clipboard) throw new Error('no clipboard')
  await navigator.clipboard.writeText(text)
}

export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <div class="code">
      <ScrollBox label={what}>
        <pre>
          <code>{text}</code>
        </pre>
      </ScrollBox>
      <CopyButton text={text} what={what} />
    </div>
  )
}
