import { useEffect, useState } from 'preact/hooks'

/** Modules of empty space around the code, which scanners need. */
const BORDER = 4

/** A QR code, drawn here: the text is not sent anywhere. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const [modules, setModules] = useState<readonly (readonly boolean[])[]>([])
  useEffect(() => {
    import('qr').then(({ encodeQR }) => setModules(encodeQR(text, 'raw', { border: BORDER })))
  }, [text])
  const size = modules.length
  const path = modules
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  )
}
