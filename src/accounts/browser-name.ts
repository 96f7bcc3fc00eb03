/** Looked for in this order: Edge and Opera also name Chrome, and Chrome also names Safari. */
const BROWSERS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const find = (text: string, names: typeof BROWSERS) => names.find(([sign]) => sign.test(text))?.[1]

/** `Firefox on Linux`, from a User-Agent header. The header itself is not stored: its caller chooses the text. */
export function toBrowserName(userAgent: string | undefined): string | undefined {
  const text = userAgent ?? ''
  const [browser, system] = [find(text, BROWSERS), find(text, SYSTEMS)]
  return browser && system ? `${browser} on ${system}` : (browser ?? system)
}
